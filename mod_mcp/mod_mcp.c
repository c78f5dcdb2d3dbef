/* SPDX-License-Identifier: Apache-2.0 */

/* Registers the module's hooks. */

#include "mod_mcp.h"

#include "mod_mcp_child.h"
#include "mod_mcp_config.h"
#include "mod_mcp_connection.h"
#include "mod_mcp_stream.h"
#include "mod_mcp_directives.h"
#include "mod_mcp_document.h"
#include "mod_mcp_fetch.h"
#include "mod_mcp_error_headers.h"
#include "mod_mcp_map.h"
#include "mod_mcp_note.h"
#include "mod_mcp_secret.h"
#include "mod_mcp_status.h"
#include "mod_mcp_tls.h"
#include "mod_mcp_zone.h"

#include "http_connection.h"
#include "mod_status.h"
#include "mpm_common.h"

static int pre_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp)
{
    APR_OPTIONAL_HOOK(ap, status_hook, mod_mcp_status_line, NULL, NULL,
                      APR_HOOK_MIDDLE);
    mod_mcp_tls_init(pconf);

    return mod_mcp_config_reset(pconf);
}

static void register_hooks(apr_pool_t *p)
{
    mod_mcp_fetch_register();
    mod_mcp_stream_filter_register();
    mod_mcp_note_register();
    mod_mcp_proxy_register();
    mod_mcp_tls_register();

    ap_hook_pre_config(pre_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_check_config(mod_mcp_check_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_post_config(mod_mcp_zone_post_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_child_init(mod_mcp_child_init, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_child_stopping(mod_mcp_child_stopping, NULL, NULL,
                           APR_HOOK_MIDDLE);

    ap_hook_post_perdir_config(mod_mcp_secret_early, NULL, NULL,
                               APR_HOOK_REALLY_FIRST);
    ap_hook_post_perdir_config(mod_mcp_note_early, NULL, NULL,
                               APR_HOOK_REALLY_FIRST);

    ap_hook_translate_name(mod_mcp_map_find, NULL, NULL,
                           APR_HOOK_REALLY_FIRST);
    ap_hook_map_to_storage(mod_mcp_map, NULL, NULL, APR_HOOK_LAST);
    ap_hook_dirwalk_stat(mod_mcp_map_stat, NULL, NULL, APR_HOOK_FIRST);
    ap_hook_open_htaccess(mod_mcp_map_htaccess, NULL, NULL, APR_HOOK_FIRST);
    ap_hook_type_checker(mod_mcp_map_type, NULL, NULL, APR_HOOK_REALLY_FIRST);
    ap_hook_fixups(mod_mcp_map_check, NULL, NULL, APR_HOOK_REALLY_LAST);

    ap_hook_post_perdir_config(mod_mcp_error_headers_preflight, NULL, NULL,
                               APR_HOOK_REALLY_FIRST);
    ap_hook_insert_error_filter(mod_mcp_error_headers_error, NULL, NULL,
                                APR_HOOK_FIRST);
    ap_hook_insert_filter(mod_mcp_error_headers_document, NULL, NULL,
                          APR_HOOK_FIRST);

    ap_hook_quick_handler(mod_mcp_document_find, NULL, NULL,
                          APR_HOOK_REALLY_FIRST);

    /* run mod_mcp_fetch_check_access() in the hook fixups as well, because the
     * result of the hook access_checker is not decisive with "Satisfy Any", and
     * the hook is skipped after an internal redirect within one section */

    ap_hook_access_checker(mod_mcp_fetch_check_access, NULL, NULL,
                           APR_HOOK_FIRST);
    ap_hook_fixups(mod_mcp_fetch_check_access, NULL, NULL,
                   APR_HOOK_REALLY_FIRST);

    ap_hook_error_log(mod_mcp_fetch_logged, NULL, NULL, APR_HOOK_MIDDLE);

    ap_hook_handler(mod_mcp_handler, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_handler(mod_mcp_document_handler, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_handler(mod_mcp_status_handler, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_suspend_connection(mod_mcp_connection_suspended, NULL, NULL,
                               APR_HOOK_LAST);
    ap_hook_log_transaction(mod_mcp_note_log, NULL, NULL,
                            APR_HOOK_REALLY_FIRST);
}

module AP_MODULE_DECLARE_DATA mcp_module = {
    STANDARD20_MODULE_STUFF,
    mod_mcp_config_create_dir,
    mod_mcp_config_merge_dir,
    mod_mcp_config_create_server,
    mod_mcp_config_merge_server,
    mod_mcp_directives,
    register_hooks,
    0
};
