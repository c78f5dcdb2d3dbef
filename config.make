# SPDX-License-Identifier: Apache-2.0

# what `config` names and make has to make

cat << END >> $NGX_MAKEFILE

$NGX_OBJS/addon/made/mcp_status_page.c: \\
		$ngx_addon_dir/shared/store/mcp_status.html \\
		$ngx_addon_dir/scripts/embed
	sh $ngx_addon_dir/scripts/embed \\
		$ngx_addon_dir/shared/store/mcp_status.html \\
		$NGX_OBJS/addon/made/mcp_status_page.c

$NGX_OBJS/addon/made/mcp_cluster_lua.c: \\
		$ngx_addon_dir/shared/cluster/redis/*.lua \\
		$ngx_addon_dir/scripts/embed
	sh $ngx_addon_dir/scripts/embed \\
		$ngx_addon_dir/shared/cluster/redis \\
		$NGX_OBJS/addon/made/mcp_cluster_lua.c

# make runs scripts/commit each time, which changes the header only with the
# commit

$NGX_OBJS/addon/base/mcp_version.o: $NGX_OBJS/addon/made/mcp_commit.h

$NGX_OBJS/addon/made/mcp_commit.h: mcp_always
	@sh $ngx_addon_dir/scripts/commit $NGX_OBJS/addon/made/mcp_commit.h

.PHONY: mcp_always

END
