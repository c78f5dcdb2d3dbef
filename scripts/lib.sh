# SPDX-License-Identifier: Apache-2.0

# Sourced by the test scripts: one place for where results go.
#
# A suite ends with `result NAME PASSED FAILED`; scripts/test adds them up.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

results=${MCP_RESULTS:-$root/build/results/single}
mkdir -p "$results"

nginx_binary() {
    echo "${NGINX_BIN:-$(command -v nginx || echo /usr/sbin/nginx)}"
}

result() {
    echo "$2 $3" > "$results/$1"
    echo "$1: $2 passed, $3 failed"

    (($3 == 0))
}

# What failed is said, with its reasons, when a suite ends and once more when all
# have ended, because much is printed in between.
#
# `failure SUITE` keeps its standard input for that; `failures DIRECTORY...`
# prints what was kept beside the results in these directories.

failure() {
    mkdir -p "$results/.failed"
    head -c 20000 >> "$results/.failed/$1"
}

# repeat COMMAND: prints the command that repeats one failed test

repeat() {
    printf '     repeat it: %s\n' "$*"
}

failures() {
    local dir file

    for dir in "$@"; do
        for file in "$dir"/.failed/*; do
            if [[ -s $file ]]; then
                printf '\n== failed in %s\n' "${file##*/}"
                cat "$file"
            fi
        done
    done
}

# What failed in a run of Node.js, from its TAP: the cases themselves, not the
# suites and files around them.

tap_failures() {
    awk '
        /^ *not ok / { text = $0; kept = 1; next }
        !kept { next }
        { text = text "\n" $0 }
        /failureType: .subtestsFailed/ { kept = 0 }
        /^ *\.\.\.$/ { print text; kept = 0 }
    ' "$1"
}

# The sanitizers write to files: nginx has no stderr of its own to speak of.
#
# `sanitized NAME` prepares them, `sanitizer_reports NAME` prints those that
# count and fails if there are any.

sanitized() {
    local dir=$root/build/reports/$1

    rm -rf "$dir"
    mkdir -p "$dir"

    local common="log_path=$dir/report"

    export ASAN_OPTIONS="$common,detect_odr_violation=0,detect_stack_use_after_return=1,exitcode=99${ASAN_EXTRA:+,$ASAN_EXTRA}"
    export UBSAN_OPTIONS="$common,print_stacktrace=1"
    export TSAN_OPTIONS="$common,exitcode=0"
    # leaks are found in the reports, not by the exit code
    export LSAN_OPTIONS="exitcode=0,suppressions=$root/t/sanitizers/lsan.supp,print_suppressions=0"
}

sanitizer_reports() {
    local dir=$root/build/reports/$1 file status=0

    for file in "$dir"/report.*; do
        [[ -f $file ]] || continue

        if perl -0777 -ne "$serious" "$file"; then
            head -n 80 "$file" | sed "s|^|${file##*/}: |" >&2
            status=1
        fi
    done

    return $status
}

# Exits with 0 for a report that counts.  Not ours to mend: nginx's own
# undefined behaviour, and the first pool of a main() that refuses its
# configuration, with all memory that it refers to.  If a worker has to end at
# once, a call that waits for its client is lost with the process.  The soak test
# checks whether calls are lost in other cases.

serious='
    exit 0 if m{ERROR: AddressSanitizer};
    exit 0 if m{(?:shared/\w+|ngx_mcp_module)/\w+\.[ch]:[\d:]+ runtime error};
    exit 1 if !m{ERROR: LeakSanitizer};

    my @leaks = grep { /^(?:Direct|Indirect) leak/ } split /\n\n/;
    my @direct = grep { /^Direct/ } @leaks;

    my $call = qr/ in (?:mcp_exchange_body_space|mcp_input_begin|mcp_backend_request_message) /;

    # the call itself, with what it asks its client

    $call = qr/$call| in mcp_call_create /
        if grep { / in mcp_input_\w+ / } @leaks;

    my @real = grep {
        !/ in ngx_create_pool [^\n]*\n[^\n]* in main / && $_ !~ $call
    } @direct;

    exit !(@real || @leaks && !@direct && !grep { $_ =~ $call } @leaks);
'

# httpd and APR are not built with the sanitizers, and LeakSanitizer does not
# search the memory that they map for pointers.  So only leaks with a frame of
# the module count, and only races with the module's code on both sides
# (t/fixtures/mod_worker.c describes to ThreadSanitizer how httpd passes memory
# on).  Only a pool refers to its allocator, and only a request to the memory of
# its exchange, both in memory that is not searched: the soak test checks whether
# pools are lost.  A child of prefork that has to end does so at once, in the
# middle of its request.

serious_apache='
    exit 0 if m{ERROR: AddressSanitizer};
    exit 0 if m{(?:shared/\w+|mod_mcp)/\w+\.[ch]:[\d:]+ runtime error};

    my $own = qr{ (?:shared/\w+|mod_mcp)/\w+\.[ch]:};
    my @parts = split m{\n\n(?=Direct|Indirect)|^=+$}m;

    exit 0 if grep {
        /^\s*Direct leak/ && $_ =~ $own && !/ in apr_allocator_create /
        && !(/ in 1 object\(s\) / && / in mcp_(?:exchange_create|arena_block) /)
    } @parts;

    exit !grep {
        my $tops = () = /^ +#0 [^\n]*$own/mg;

        /^\s*WARNING: ThreadSanitizer: data race/ && $tops > 1
    } @parts;
'
