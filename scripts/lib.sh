# Sourced by the test scripts: one place for where results go.
#
# A suite ends with `result NAME PASSED FAILED`; scripts/test adds them up.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

results=${MCP_RESULTS:-$root/build/results}
mkdir -p "$results"

result() {
    echo "$2 $3" > "$results/$1"
    echo "$1: $2 passed, $3 failed"

    (($3 == 0))
}

# The sanitizers write to files: nginx has no stderr of its own to speak of.
# `sanitized NAME` prepares them, `sanitizer_reports NAME` prints those that
# count and fails if there are any.

sanitized() {
    local dir=$root/build/reports/$1

    rm -rf "$dir"
    mkdir -p "$dir"

    local common="log_path=$dir/report"

    export ASAN_OPTIONS="$common,detect_stack_use_after_return=1,abort_on_error=0,exitcode=99${ASAN_EXTRA:+,$ASAN_EXTRA}"
    export UBSAN_OPTIONS="$common,print_stacktrace=1"
    export LSAN_OPTIONS="suppressions=$root/scripts/lsan.supp,print_suppressions=0"
}

sanitizer_reports() {
    local dir=$root/build/reports/$1 file status=0

    for file in "$dir"/report.*; do
        [[ -f $file ]] || continue

        # nginx's own undefined behaviour is not ours to mend

        if grep -qE 'ERROR: (Address|Leak)Sanitizer|(shared|ngx_mcp_module)/[a-z_0-9]+\.[ch]:[0-9:]+ runtime error' "$file"
        then
            sed "s|^|$(basename "$file"): |" "$file" | head -n 60 >&2
            status=1
        fi
    done

    return $status
}
