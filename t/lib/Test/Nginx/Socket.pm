# SPDX-License-Identifier: Apache-2.0

package Test::Nginx::Socket;

# The client side of a small loader for Test::Nginx files: makes the requests of
# a block, sends them over a plain socket and checks the answers and the logs.
# The server side is Test::Nginx::Util.

use v5.14;
use strict;
use warnings;

use Test::Base -base;

use Digest::MD5 ();
use Digest::SHA ();
use HTTP::Response ();
use IO::Select ();
use IO::Socket::INET ();
use IO::Socket::UNIX ();
use POSIX qw( EAGAIN EINPROGRESS );
use Test::LongString;
use Test::More ();
use Time::HiRes qw( sleep time );

use Test::Nginx::Util;

our $VERSION = '0.01';

our @EXPORT = qw(
    add_block_preprocessor add_cleanup_handler add_response_body_check
    add_test_cleanup_handler bail_out check_accum_error_log config_preamble
    env_to_nginx html_dir is_str log_level master_off master_on
    master_process_enabled no_long_string no_root_location no_shuffle plan
    repeat_each run_tests server_addr server_name server_port
    server_port_for_client server_root timeout use_hup worker_connections
    workers
);

$RunTestHelper = \&run_requests;

my @body_checks;

sub add_response_body_check ($) { push @body_checks, shift }


sub is_str (@) {
    my ($got, $expected, $name) = @_;

    return Test::More::like($got, $expected, $name) if ref $expected;
    return Test::More::is($got, $expected, $name) if $NoLongString;
    return is_string($got, $expected, $name);
}


# Reports a failure that the plan does not count.

sub fail_unplanned {
    my $tb = Test::More->builder;

    $tb->no_ending(1);
    $tb->ok(0, shift);
}


# Requests
#
# A request is a list of packets: { value => bytes, delay_before => seconds }.

# Turns "Key: value" lines into a head. Also returns whether the body is
# chunked.

sub parse_more_headers {
    my $text = shift;

    my ($head, $chunked) = ('', 0);

    for my $line (split /\n+/, $text) {
        next if $line =~ /^\s*#/;

        my ($key, $value) = split /:\s*/, $line, 2;

        $value //= '';
        $value =~ s/\r$//;
        $chunked = 1 if lc $key eq 'transfer-encoding' && $value eq 'chunked';
        $head .= "$key: $value\r\n";
    }

    return ($head, $chunked);
}


# Completes a request written as "METHOD [URL [VERSION]]", newline, body: adds
# the headers and trims the body. The text may come in several packets; the
# result is split at the same places.

sub build_request {
    my ($name, $more, $connection, @packets) = @_;

    my ($head, $chunked) = parse_more_headers($more);
    my $text = join '', @packets;

    $text =~ /\A(\s*)(\S+)([ ]*)(\S*)([ ]*)(\S*)([^\S\n]*(?:\n|\z))(.*)\z/s
        or bail_out("$name - request line expected, but got \"$text\"");

    my ($lead, $method, $gap, $url, $gap2, $version, $eol, $body)
        = ($1, $2, $3, $4, $5, $6, $7, $8);

    my ($before, $trimmed, $after) = ('', $body, '');

    if (!$chunked && $body ne '' && $head !~ /^Content-Length:/m) {
        ($before, $trimmed, $after) = $body =~ /\A(\s*)(.*?)(\s*)\z/s;
        $head .= 'Content-Length: ' . length($trimmed) . "\r\n";
    }

    $head = "Connection: $connection\r\n$head" if $head !~ /^Connection/mi;
    $head = "Host: $ServerName\r\n$head" if $head !~ /^Host:/mi;

    # pairs of the text as written and the text as sent

    my @parts = (
        [$lead, ''],
        [$method, $method],
        [$gap, ' '],
        [$url, $url eq '' ? '/' : $url],
        [$gap2, ' '],
        [$version, $version eq '' ? 'HTTP/1.1' : $version],
        [$eol, "\r\n"],
        ['', "$head\r\n"],
        [$before, ''],
        [$trimmed, $trimmed],
        [$after, ''],
    );

    my $out = join '', map { $_->[1] } @parts;
    my ($from, $end) = (0, 0);
    my @result;

    for my $i (0 .. $#packets) {
        $end += length $packets[$i];

        my $to = $i == $#packets ? length $out : map_offset($end, @parts);

        push @result, substr $out, $from, $to - $from;
        $from = $to;
    }

    return @result;
}


# Maps an offset in the written text to the text that is sent.

sub map_offset {
    my ($offset, @parts) = @_;

    my ($in, $out) = (0, 0);

    for my $part (@parts) {
        my ($was, $is) = map { length } @$part;

        if ($offset < $in + $was) {
            my $inside = $offset - $in;

            return $out + ($inside < $is ? $inside : $is);
        }

        $in += $was;
        $out += $is;
    }

    return $out;
}


# Returns the n-th entry of --- more_headers, which may be a list.

sub more_headers_of {
    my ($block, $i) = @_;

    my $more = $block->more_headers // '';

    return $more if ref $more ne 'ARRAY';

    return $more->[$i]
        // bail_out($block->name . " - --- more_headers lacks entry $i");
}


sub requests_of {
    my $block = shift;

    my $name = $block->name;

    if (defined(my $raw = $block->raw_request)) {
        return [map { { value => $_ } } ref $raw ? @$raw : $raw];
    }

    if (my $list = $block->pipelined_requests) {
        my $i = 0;
        my $text = '';

        ref $list eq 'ARRAY'
            or bail_out("$name - --- pipelined_requests is not a list");

        for my $request (@$list) {
            my $connection = $i == $#$list ? 'close' : 'keep-alive';

            $text .= join '', build_request($name, more_headers_of($block, $i),
                $connection, expand_env_in_text($request, $name));
            $i++;
        }

        return [{ value => $text }];
    }

    my $request = $block->request;

    defined $request or bail_out("$name - no --- request");

    if (!ref $request) {
        1 while $request =~ s/\A\s*#[^\n]+\s+|\A\s+//;

        $request = [$request];
    }

    my $i = 0;
    my @requests;

    for my $one (@$request) {
        my @given = ref $one eq 'ARRAY' ? @$one : $one;

        my @values = build_request($name, more_headers_of($block, $i++),
            'close', map { ref $_ ? $_->{value} : $_ } @given);

        push @requests, [map {
            { ref $_ ? %$_ : (), value => shift @values }
        } @given];
    }

    return @requests;
}


# The socket
#
# Sends the packets. Reads until the server closes, or until no byte moves
# within the block's timeout.

sub send_request {
    my ($block, $packets) = @_;

    my $name = $block->name;
    my $timeout = parse_time($block->timeout) // timeout();
    my $middle_delay = $block->raw_request_middle_delay;
    my $address = $block->server_addr_for_client // $ServerAddr;

    my $sock = IO::Socket::INET->new(
        PeerAddr => $address,
        PeerPort => $ServerPortForClient,
        Proto => 'tcp',
        Timeout => $timeout,
    );

    if (!$sock) {
        fail_unplanned("$name - cannot connect to "
            . "$address:$ServerPortForClient: $!");
        return '';
    }

    $sock->blocking(0);

    my @left = map { { %$_ } } @$packets;
    my $readable = IO::Select->new($sock);
    my $out = (shift @left)->{value};
    my $in = '';
    my $writing = 1;

    while (1) {
        my ($can_read, $can_write) = IO::Select->select($readable,
            $writing ? $readable : undef, undef, $timeout);

        if (!$can_read) {
            fail_unplanned("ERROR: client socket timed out - $name")
                if !defined $block->abort;
            last;
        }

        if (@$can_read) {
            my $n = sysread $sock, $in, 65536, length $in;

            last if defined $n && $n == 0;

            if (!defined $n && $! != EAGAIN) {
                warn "$name - response read failure: $!\n";
                last;
            }
        }

        next if !@$can_write;

        if ($out ne '') {
            my $n = syswrite $sock, $out;

            if (defined $n) {
                substr($out, 0, $n) = '';

            } elsif ($! != EAGAIN) {
                warn "$name - write failed: $!\n" if $in eq '';
                $writing = 0;
            }

            next;
        }

        if (my $next = shift @left) {
            my $delay = $next->{delay_before} // $middle_delay;

            sleep $delay if $delay;
            $out = $next->{value};
            next;
        }

        $writing = 0;

        if (defined(my $how = $block->shutdown)) {
            shutdown $sock, $how =~ /^\s*$/ ? 1 : $how;
        }
    }

    close $sock;

    return $in;
}


# Responses

# Returns the body of a chunked message and the bytes after it, or the reason
# why the message is invalid.

sub decode_chunked {
    my ($raw, @trailers) = @_;

    my $body = '';

    while (1) {
        if ($raw !~ /\G[ \t]*([0-9A-Fa-f]+)[ \t]*(?:;[^\r\n]*)?\r\n/gc) {
            my $rest = substr $raw, pos $raw // 0;

            return (undef, undef, $rest eq ''
                ? "no last chunk found - $raw"
                : "invalid chunked body received: $rest");
        }

        my $size = hex $1;

        last if $size == 0;

        my $at = pos $raw;

        return (undef, undef, 'invalid chunked data received '
            . '(not enough octets for the data section)')
            if length $raw < $at + $size;

        $body .= substr $raw, $at, $size;
        pos($raw) = $at + $size;

        $raw =~ /\G\r\n/gc
            or return (undef, undef,
                'invalid chunked data received (expected CRLF)');
    }

    for my $trailer (@trailers) {
        $raw =~ /\G\Q$trailer\E: [^\n]*\r\n/gci
            or return (undef, undef,
                "invalid trailer data received (expected $trailer)");
    }

    $raw =~ /\G\r\n/gc
        or return (undef, undef,
            'invalid chunked data received (expected CRLF)');

    return ($body, substr($raw, pos $raw));
}


# Returns the response, its raw head and the bytes after it.

sub parse_response {
    my ($block, $raw, $is_head) = @_;

    my $name = $block->name;

    return (HTTP::Response->new(200, 'OK', [], $raw), '', '')
        if defined $block->http09;

    my $head = $raw =~ /\A(.*?\r\n)\r\n/s ? $1 : '';
    my $response = HTTP::Response->parse($raw);
    my $code = $response->code;

    if (!defined $code || $code !~ /^\d+$/) {
        $response->code(undef);
        return ($response, $head, '');
    }

    return ($response, $head, '') if $code == 304 || $code == 101;

    my $length = $response->header('Content-Length');
    my $content = $response->content // '';

    if (lc($response->header('Transfer-Encoding') // '') eq 'chunked') {
        my ($body, $left, $error)
            = decode_chunked($content, $response->header('Trailer'));

        if (defined $error) {
            fail_unplanned("$name - $error");
            return (undef, $head, '');
        }

        $response->content($body);

        return ($response, $head, $left);
    }

    if (defined $length && $length =~ /^\d+$/) {
        if (length $content < $length) {
            warn "WARNING: $name - response body truncated: $length expected, "
                . 'but got ' . length($content) . "\n" if !$is_head;

        } else {
            $response->content(substr $content, 0, $length);

            return ($response, $head, substr $content, $length);
        }
    }

    return ($response, $head, '');
}


# Checks
#
# $at = { index, many, repeat }: which request of the block, whether
# the expectations are lists, which round of repeat_each.

sub expectation {
    my ($block, $section, $at) = @_;

    my $value = $block->$section;

    return $value->[$at->{index}] if ref $value eq 'ARRAY';

    bail_out($block->name . " - many requests, but --- $section is no list")
        if $at->{many};

    return $value;
}


sub check_error_code {
    my ($block, $response, $at) = @_;

    my $name = $block->name . ' - status code ok';
    my $code = $response && $response->code || '';

    if (defined $block->error_code_like) {
        my $pattern = expectation($block, 'error_code_like', $at);

        Test::More::like($code, qr/$pattern/sm, $name);

    } elsif (defined $block->error_code) {
        Test::More::is($code, expectation($block, 'error_code', $at), $name);

    } else {
        Test::More::is($code, 200, $name);
    }
}


sub check_raw_headers {
    my ($block, $head, $at) = @_;

    my $name = $block->name;

    if (defined $block->raw_response_headers_like) {
        my $pattern = expectation($block, 'raw_response_headers_like', $at);

        Test::More::like($head, qr/$pattern/s, "$name - raw resp headers like");
    }

    if (defined $block->raw_response_headers_unlike) {
        my $pattern = expectation($block, 'raw_response_headers_unlike', $at);

        Test::More::unlike($head, qr/$pattern/s,
            "$name - raw resp headers unlike");
    }
}


sub check_headers {
    my ($block, $response, $head, $at) = @_;

    my $name = $block->name;
    my $like = !defined $block->response_headers;
    my $section = $like ? 'response_headers_like' : 'response_headers';

    return if !defined $block->$section;

    my %expected;

    for my $line (split /\n/, expectation($block, $section, $at) // '') {
        $line =~ s/^\s+|\s+$//g;

        next if $line eq '';

        if ($line =~ s/^!\s*//) {
            $expected{$line} = undef;
            next;
        }

        my ($key, $value) = split /\s*:\s*/, $line, 2;

        $expected{$key} = $value // '';
    }

    for my $key (sort keys %expected) {
        my $value = $expected{$key};

        if (!defined $value) {
            Test::More::unlike($head, qr/^\s*\Q$key\E\s*:/ms,
                "$name - header $key not present in the raw headers");
            next;
        }

        my $got = ($response ? $response->header($key) : undef) // '';

        if ($like) {
            Test::More::like($got, qr/^$value$/,
                "$name - header $key like ok");
            next;
        }

        $value =~ s/\$ServerPortForClient\b/$ServerPortForClient/g;
        $value =~ s/\$ServerPort\b/$ServerPort/g;

        Test::More::is($got, $value, "$name - header $key ok");
    }
}


my %body_filters = (
    md5_hex => \&Digest::MD5::md5_hex,
    sha1_hex => \&Digest::SHA::sha1_hex,
    uc => sub { uc shift },
    lc => sub { lc shift },
    ucfirst => sub { ucfirst shift },
    lcfirst => sub { lcfirst shift },
    length => sub { length shift },
);

sub filter_body {
    my ($block, $body, $at) = @_;

    my $filters = $block->response_body_filters;

    return $body if !defined $filters || !defined $body;

    $filters = [split ' ', $filters] if !ref $filters;
    $filters = [$filters] if ref $filters ne 'ARRAY';
    $filters = $filters->[$at->{index}] if ref $filters->[0] eq 'ARRAY';

    for my $filter (@$filters) {
        my $code = ref $filter eq 'CODE' ? $filter : $body_filters{$filter};

        $code or bail_out($block->name . " - unknown filter \"$filter\"");
        $body = $code->($body);
    }

    return $body;
}


sub check_body {
    my ($block, $response, $at) = @_;

    my $name = $block->name;
    my $body = filter_body($block, $response ? $response->content : undef, $at);
    my $which = "repeated req $at->{repeat}, req $at->{index}";

    if (defined $block->response_body) {
        my $expected = expectation($block, 'response_body', $at);

        if (defined $expected && !ref $expected) {
            $expected =~ s/\$ServerPortForClient\b/$ServerPortForClient/g;
            $expected =~ s/\$ServerPort\b/$ServerPort/g;
            $expected = expand_env_in_text($expected, $name);
        }

        is_str($body, $expected,
            "$name - response_body - response is expected ($which)");

    } elsif (defined $block->response_body_like
        || defined $block->response_body_unlike)
    {
        my ($type, $compare) = defined $block->response_body_like
            ? ('like', \&Test::More::like)
            : ('unlike', \&Test::More::unlike);

        my $pattern = expectation($block, "response_body_$type", $at);
        my $summary = substr($body // '', 0, 200) =~ s/\s+/ /gr;

        $pattern =~ s/\$ServerPortForClient\b/$ServerPortForClient/g;
        $pattern =~ s/\$ServerPort\b/$ServerPort/g;

        $compare->($body, qr/$pattern/s, "$name - response_body_$type - "
            . "response is expected ($summary)");
    }

    $_->($block, $body, $at->{index}, $at->{repeat}) for @body_checks;
}


# Logs

# Returns the patterns of a section: lines of text, a regular expression, or a
# list of both.

sub patterns_of {
    my $value = shift;

    return grep { defined } @$value if ref $value eq 'ARRAY';
    return $value if ref $value;
    return grep { $_ ne '' } split /\n+/, $value;
}


sub line_matches {
    my ($line, $pattern) = @_;

    return ref $pattern ? $line =~ /$pattern/ : index($line, $pattern) >= 0;
}


# Log lines are written after the client has its answer. Waits until all wanted
# lines have come; if lines are unwanted, waits long enough for a late one.

sub wait_for_lines {
    my ($read, $wanted, $unwanted) = @_;

    my $start = time;

    while (1) {
        my $lines = $read->();

        my @missing = grep {
            my $pattern = $_;
            !grep { line_matches($_, $pattern) } @$lines
        } @$wanted;

        my $waited = time - $start;

        return $lines if !@missing && (!$unwanted || $waited > 0.045)
            || $waited > 1;

        sleep 0.005;
    }
}


sub check_log {
    my ($block, $at, $file, $read) = @_;

    my $name = $block->name;
    my $round = "(req $at->{repeat})";
    my ($yes, $no) = ("${file}_log", "no_${file}_log");
    my @wanted = defined $block->$yes ? patterns_of(scalar $block->$yes) : ();
    my @unwanted = defined $block->$no ? patterns_of(scalar $block->$no) : ();
    my $grep = $file eq 'error' ? $block->grep_error_log : undef;

    $grep = $grep->[$at->{repeat}] if ref $grep eq 'ARRAY';

    return [] if !@wanted && !@unwanted && !defined $grep && $file ne 'error';

    # a late unwanted line is found after the block's next request

    my $late = defined $grep || @unwanted && !$at->{more};
    my $lines = wait_for_lines($read, \@wanted, $late);

    check_grep($block, $at, $grep, $lines) if defined $grep;

    for my $pattern (@wanted) {
        my $found = grep { line_matches($_, $pattern) } @$lines;

        Test::More::ok($found, "$name - pattern \"$pattern\" "
            . ($found ? 'matches' : 'should match')
            . " a line in $file.log $round");
    }

    for my $pattern (@unwanted) {
        my ($line) = grep { line_matches($_, $pattern) } @$lines;

        my $ok = Test::More::ok(!defined $line, "$name - pattern \"$pattern\" "
            . (defined $line ? 'should not match any' : 'does not match a')
            . " line in $file.log $round");

        Test::More::diag("matches: $line") if !$ok;
    }

    return $lines;
}


# --- grep_error_log with --- grep_error_log_out: the parts of the log that a
# pattern matches

sub check_grep {
    my ($block, $at, $pattern, $lines) = @_;

    my $name = $block->name;
    my $expected = $block->grep_error_log_out;

    $expected = $expected->[$at->{repeat}] if ref $expected eq 'ARRAY';

    defined $expected or bail_out("$name - no --- grep_error_log_out");

    my $regex = ref $pattern ? $pattern : qr/\Q$pattern\E/;
    my $got = '';

    for my $line (@$lines) {
        $got .= "$1\n" if $line =~ /($regex)/ && $1 !~ /\n/;
    }

    is_str($got, expand_env_in_text($expected, $name),
        "$name - grep_error_log_out (req $at->{repeat})");
}


sub check_logs {
    my ($block, $at, $with_access_log) = @_;

    my $name = $block->name;

    my $lines = check_log($block, $at, 'error', sub { error_log_data(0) });

    error_log_data(1);

    my $expected = join "\n", map { patterns_of($block->$_ // '') }
        qw( error_log no_error_log );

    for my $line (@$lines) {
        chomp(my $text = $line);

        if ($text =~ /\[(alert|crit|emerg)\]/ && index($expected, "[$1") < 0) {
            warn "WARNING: $name - $text\n";
        }

        if ($text =~ /\bAssertion .*?failed\b|exited on signal/) {
            fail_unplanned("$name - $text");
        }
    }

    check_log($block, $at, 'access', \&access_log_data) if $with_access_log;
}


# --- tcp_listen: a port, or the path of a Unix socket (*.sock). A server process
# answers one connection there with --- tcp_reply, after it has read the number
# of bytes in --- tcp_query_len (default: any).

sub start_tcp_server {
    my $block = shift;

    my $name = $block->name;
    my $target = expand_env_in_text($block->tcp_listen, $name) =~ s/\s+//gr;

    my $listener = $target =~ /^\d+$/
        ? IO::Socket::INET->new(
            LocalAddr => '127.0.0.1',
            LocalPort => $target,
            ReuseAddr => 1,
            Listen => 5,
        )
        : do {
            unlink $target;
            IO::Socket::UNIX->new(Local => $target, Listen => 5);
        };

    $listener or bail_out("$name - cannot listen on $target: $!");

    pipe my $query_out, my $query_in or bail_out("pipe: $!");

    my $pid = fork() // bail_out("cannot fork: $!");

    if ($pid == 0) {
        close $query_out;
        serve_tcp($block, $listener, $query_in);
        POSIX::_exit(0);
    }

    close $listener;
    close $query_in;

    return { pid => $pid, query => $query_out };
}


sub serve_tcp {
    my ($block, $listener, $query) = @_;

    my $need = $block->tcp_query_len
        // (defined $block->tcp_query ? length $block->tcp_query : 1);
    my $reply = $block->tcp_reply;
    my $shutdown = $block->tcp_shutdown;
    my $got = '';

    $SIG{$_} = 'DEFAULT' for qw( INT TERM HUP );

    my $client = $listener->accept() or return;

    if (defined $shutdown) {
        sleep $block->tcp_shutdown_delay if $block->tcp_shutdown_delay;
        shutdown $client, $shutdown;
    }

    if (!defined $shutdown || $shutdown == 1) {
        while (length $got < $need) {
            my $n = sysread $client, my $part, 65536;

            last if !$n;

            $got .= $part;
            syswrite $query, $part;
        }
    }

    my $delay = parse_time($block->tcp_reply_delay);

    sleep $delay if $delay;

    $reply = $reply->($got) if ref $reply eq 'CODE';

    if (defined $reply && (!defined $shutdown || $shutdown == 0)) {
        syswrite $client, $_ for ref $reply ? @$reply : $reply;
    }

    sleep 3600 if defined $block->tcp_no_close;
}


sub stop_tcp_server {
    my ($block, $server) = @_;

    my $name = $block->name;
    my $got = '';

    if (defined $block->tcp_query || defined $block->tcp_query_len) {
        my $want = $block->tcp_query_len // length $block->tcp_query;
        my $ready = IO::Select->new($server->{query});

        while (length $got < $want && $ready->can_read(timeout())) {
            last if !sysread $server->{query}, $got, 65536, length $got;
        }

        is_str($got, scalar $block->tcp_query, "$name - tcp_query ok")
            if defined $block->tcp_query;

        Test::More::is(length $got, scalar $block->tcp_query_len,
            "$name - TCP query length ok") if defined $block->tcp_query_len;
    }

    {
        local $?;
        kill 'TERM', $server->{pid};
        waitpid $server->{pid}, 0;
    }
}


# Runs a block once: all its requests and their checks.

sub run_requests {
    my ($block, $repeat, $log_only) = @_;

    my $name = $block->name;

    for my $section (qw( http2 http3 stap udp_listen reload_fails )) {
        bail_out("$name - --- $section is not supported by this loader")
            if defined $block->$section;
    }

    if ($log_only) {
        check_logs($block, { index => 0, repeat => $repeat });
        return;
    }

    my $server = defined $block->tcp_listen ? start_tcp_server($block) : undef;
    my @requests = requests_of($block);

    my $pipelined = $block->pipelined_requests
        ? scalar @{$block->pipelined_requests} : 0;

    my $total = $pipelined || @requests;
    my $index = 0;

    for my $packets (@requests) {
        my $raw = send_request($block, $packets);
        my $is_head = $packets->[0]{value} =~ /^\s*HEAD\s/;

        for (1 .. $pipelined || 1) {
            my $at = {
                index => $index++,
                many => $total > 1,
                more => $index < $total,
                repeat => $repeat,
            };

            if (!defined $block->ignore_response) {
                $raw = check_response($block, $raw, $is_head, $at);

                warn "WARNING: $name - unexpected extra bytes after the "
                    . "response: \"$raw\"\n" if !$pipelined && $raw ne '';
            }

            sleep $block->wait if $block->wait;

            check_logs($block, $at, !defined $block->ignore_response);
        }
    }

    stop_tcp_server($block, $server) if $server;
}


# Checks a response and returns the bytes after it.

sub check_response {
    my ($block, $raw, $is_head, $at) = @_;

    my ($response, $head, $left) = parse_response($block, $raw, $is_head);

    check_error_code($block, $response, $at);
    check_raw_headers($block, $head, $at);
    check_headers($block, $response, $head, $at);
    check_body($block, $response, $at);

    return $left;
}

1;
