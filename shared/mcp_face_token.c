
/* To come. */


#include "mcp_face.h"


const mcp_face_t  mcp_face_token = {
    .name = { "token", sizeof("token") - 1 }
};
