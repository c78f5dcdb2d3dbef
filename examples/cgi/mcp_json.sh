# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2004,SC2034,SC2141,SC2206
# Reads and writes JSON for mcp.sh.  The JSON is valid, because the web server has
# parsed the request.

export LC_ALL=C.UTF-8

# Sets REPLY to a text as a JSON string.
mcp_quote() {
    local LC_ALL=C i byte code     # by bytes, which is much faster

    REPLY=${1//\\/\\\\}
    REPLY=${REPLY//\"/\\\"}
    [[ $REPLY != *[[:cntrl:]]* ]] || for ((i = 1; i < 32; i++)); do
        printf -v code '\\u%04x' "$i"
        printf -v byte '%b' "\\x${code:4}"
        REPLY=${REPLY//"$byte"/"$code"}
    done
    REPLY="\"$REPLY\""
}

# Sets REPLY to the text of a JSON string, which is given without its quotes.
mcp_unquote() {
    local LC_ALL=C IFS=$'\\' i part code low
    local parts=($1.)
    REPLY=${parts[0]}
    for ((i = 1; i < ${#parts[@]}; i++)); do
        part=${parts[i]}
        case ${part:0:1} in
            '') REPLY+=\\${parts[++i]} && continue ;;
            b) REPLY+=$'\b' ;;
            f) REPLY+=$'\f' ;;
            n) REPLY+=$'\n' ;;
            r) REPLY+=$'\r' ;;
            t) REPLY+=$'\t' ;;
            u)
                code=$((16#${part:1:4}))
                if ((code >> 10 == 0x36)) && [[ ${parts[i + 1]-} == u[dD][c-fC-F]* ]]; then
                    low=$((16#${parts[++i]:1:4}))
                    part=${parts[i]} code=$((0x10000 + ((code & 0x3ff) << 10) + (low & 0x3ff)))
                fi
                ((code && code >> 11 != 0x1b)) || code=0xfffd
                printf -v code '\\U%x' "$code"
                LC_ALL=C.UTF-8 printf -v code '%b' "$code"
                REPLY+=$code${part:5} && continue ;;
            *) REPLY+=${part:0:1} ;;
        esac
        REPLY+=${part:1}
    done
    REPLY=${REPLY%.}
}

# Sets MCP[PREFIX/path/to/value] for each string, number, true and false of a JSON
# text.  "/" in a name is "~1", "~" is "~0", as in JSON Pointers.
mcp_parse() {
    local LC_ALL=C IFS=\" i text token depth=0 key='' name='' path=("$2") kind=('') count=(0)

    set -f
    local parts=($1) tokens     # parts at odd numbers are in quotes
    for ((i = 0; i < ${#parts[@]}; i++)); do
        IFS=$' \t\r\n' text=${parts[i]}
        for token in '{' '}' '[' ']' ',' ':'; do text=${text//"$token"/ "$token" }; done
            tokens=($text)
        for token in ${tokens[@]+"${tokens[@]}"}; do
            case $token in
                '{' | '[')
                    path[depth + 1]=${path[depth]}${depth:+${name:+/}}$name
                    kind[++depth]=$token count[depth]=0 name=0 key=$token ;;
                '}' | ']') : $((depth--)) ;;
                ',') key=${kind[depth]} name=$((++count[depth])) ;;
                ':' | null) ;;
                *) MCP[${path[depth]}/$name]=$token ;;
            esac
        done

        ((++i < ${#parts[@]})) || break
        text=${parts[i]}
        while token=${parts[i]##*[!\\]}; ((${#token} % 2)); do text+=\"${parts[++i]}; done
        mcp_unquote "$text"
        if [[ $key == '{' ]]; then
            REPLY=${REPLY//'~'/'~0'} name=${REPLY//'/'/'~1'} key=''
        else
            MCP[${path[depth]}/$name]=$REPLY
        fi
    done
    set +f
}
