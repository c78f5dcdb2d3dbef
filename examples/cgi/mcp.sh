# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Tools of an MCP backend, for CGI scripts in bash 4.4 or later; see tools.sh.
#
# mcp_tool NAME ENTRY declares a tool, which is the function NAME.  ENTRY is its
# entry in the catalog as JSON, without the name.  mcp_run answers the call.  The
# function calls mcp_text TEXT, mcp_image FILE TYPE, mcp_structured JSON,
# mcp_progress DONE TOTAL TEXT, mcp_ask, and mcp_fail TEXT, which ends the call
# with an error that the model reads.
#
# ${MCP[arg/name]} is an argument, ${MCP[arg/list/0]} the first item of a list.
# The web server has not checked them: take numbers from mcp_integer, and never
# use other arguments in $((...)), eval or [[ -v ]].  U+FFFD replaces U+0000.

. "$(dirname "${BASH_SOURCE[0]}")/mcp_json.sh"

declare -A MCP=() mcp_entries=()
mcp_names=() mcp_content='' mcp_data='' mcp_calling='' mcp_out=1

mcp_tool() {
    mcp_names+=("$1")
    mcp_entries[$1]=$2
}

mcp_text() {
    mcp_quote "$1"
    mcp_content+=${mcp_content:+,}"{\"type\":\"text\",\"text\":$REPLY}"
}

mcp_image() {
    mcp_quote "$2"
    mcp_content+=${mcp_content:+,}"{\"type\":\"image\",\"data\":\"$(base64 -w 0 "$1")\",\"mimeType\":$REPLY}"
}

mcp_structured() { mcp_data=",\"structuredContent\":$1"; }

# mcp_integer NAME [VALUE]: sets REPLY to an argument, or else to VALUE
mcp_integer() {
    REPLY=${MCP[arg/$1]-${2-}}
    [[ $REPLY =~ ^-?(0|[1-9][0-9]{0,17})$ ]] || mcp_fail "$1 must be an integer."
}

mcp_progress() {
    [[ -n ${MCP_PROGRESS_TOKEN-} ]] || return 0
    mcp_quote "$3"
    printf '{"jsonrpc":"2.0","method":"notifications/progress","params":%s}\n' >&"$mcp_out" \
        "{\"progressToken\":$MCP_PROGRESS_TOKEN,\"progress\":$1,\"total\":$2,\"message\":$REPLY}"
}

mcp_end() {
    mcp_calling=''
    printf '%s\n' "${1//$'\n'/ }" >&"$mcp_out"
    exit
}

mcp_fail() {
    mcp_content=''
    mcp_text "$1"
    mcp_end "{\"content\":[$mcp_content],\"isError\":true}"
}

# mcp_ask KEY TEXT SCHEMA: asks the user.  Fails if the user declined; otherwise
# ${MCP[answer/KEY/content/FIELD]} is a field of the answer.  Once the user has
# answered, the tool runs again: let it change nothing before its last question.
mcp_ask() {
    local path question state=''

    [[ ! ${MCP[answer/$1/action]+x} ]] || { [[ ${MCP[answer/$1/action]} == accept ]]; return; }
    for path in "${!MCP[@]}"; do
        [[ $path == answer/* ]] || continue
        mcp_quote "${path#answer/}"
        state+=${state:+,}$REPLY,
        mcp_quote "${MCP[$path]}"
        state+=$REPLY
    done
    mcp_quote "$2"
    question="{\"method\":\"elicitation/create\",\"params\":{\"message\":$REPLY,\"requestedSchema\":$3}}"
    mcp_quote "[$state]"
    state=$REPLY
    mcp_quote "$1"
    mcp_end "{\"resultType\":\"input_required\",\"inputRequests\":{$REPLY:$question},\"requestState\":$state}"
}

mcp_ended() {
    [[ -z $mcp_calling ]] || mcp_end \
        '{"content":[{"type":"text","text":"The tool has failed."}],"isError":true}'
}

# Sets MCP[NEW/...] to the members of MCP[OLD/...].
mcp_move() {
    local path

    for path in "${!MCP[@]}"; do
        [[ $path != "$1"/* ]] || MCP[$2/${path#"$1"/}]=${MCP[$path]}
    done
}

mcp_run() {
    local i name comma=''

    if [[ ${1-} == --catalog ]]; then
        printf '{"tools": ['
        for name in "${mcp_names[@]}"; do
            printf '%s\n{"name": "%s", %s' "$comma" "$name" "${mcp_entries[$name]#*\{}"
            comma=,
        done
        printf '\n]}\n'
        return
    fi

    printf 'Content-Type: application/x-ndjson\r\n\r\n'
    exec {mcp_out}>&1 1>&2      # other output of the tool goes to the log
    mcp_parse "$(cat)" ''
    name=${MCP[/params/name]-}
    if [[ ! $name =~ ^[A-Za-z0-9_.-]+$ || ! ${mcp_entries[$name]+x} ]]; then
        mcp_quote "Unknown tool: $name"
        mcp_end "{\"jsonrpc\":\"2.0\",\"id\":0,\"error\":{\"code\":-32602,\"message\":$REPLY}}"
    fi

    mcp_move /params/arguments arg
    mcp_move /params/inputResponses answer
    mcp_parse "${MCP[/params/requestState]-}" /state
    for ((i = 0; ${MCP[/state/$i]+1}0; i += 2)); do
        MCP[answer/${MCP[/state/$i]}]=${MCP[/state/$((i + 1))]}
    done
    mcp_calling=1
    trap mcp_ended EXIT
    "$name"
    mcp_end "{\"content\":[$mcp_content]$mcp_data}"
}
