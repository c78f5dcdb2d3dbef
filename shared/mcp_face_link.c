
/* To come. */


#include "mcp_face.h"


const mcp_face_t  mcp_face_link = {
    .name = { "link", sizeof("link") - 1 }
};
