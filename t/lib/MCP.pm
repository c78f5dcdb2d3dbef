# SPDX-License-Identifier: Apache-2.0

package MCP;

# Functions that the files in t/ share. Load this module after
# Test::Nginx::Socket: its directory also has a small loader for Test::Nginx
# files, which must not replace openresty's:
#
#     use Test::Nginx::Socket;
#     use lib 't/lib';
#     use MCP;
#
# Each block without --- bare gets the zone "mcp" and a key, from which tests
# make session tokens. Each block without --- error_log must not log errors. A
# list of requests may be written as a table:
#
#     --- cases eval
#     [
#         [request, header lines, status, body],
#     ]
#
# Undefined header lines are MCP::post(), get() or end(), by the method. A body
# is compared if it is a string and matched if it is a regular expression.
# Random stream ids at the beginning of event ids are replaced by "S" before
# bodies are compared.
#
# Code in --- init can use a client, MCP::begin(), and a backend,
# MCP::backend(). The code is one test, which fails if it dies. A block without
# a request sends a ping after it.

use v5.14;
use strict;
use warnings;

use Digest::SHA qw( hmac_sha256 sha256 );
use IO::Select ();
use IO::Socket::INET ();
use IO::Socket::UNIX ();
use MIME::Base64 qw( encode_base64url );

our $KEY = 'the secret of the test suite, which is no secret';
our $OTHER_KEY = 'another secret, of which nginx knows nothing yet';
our $LATEST = '2025-11-25';
our $TIMEOUT = 10;

# a write to a closed connection returns an error instead of ending the test

$SIG{PIPE} = 'IGNORE';

$ENV{TEST_NGINX_HTML_DIR} ||= Test::Nginx::Util::html_dir();

my %revisions = (
    '2025-03-26' => 1,
    '2025-06-18' => 2,
    '2025-11-25' => 3,
);

my %capabilities = (
    'sampling' => 1,
    'elicitation' => 2,
    'elicitation.url' => 4,
    'roots' => 8,
    'sampling.tools' => 16,
    'requests' => 32,
    'streams' => 64,
    'tokens' => 128,
);

my $block;
my $code;


# Tokens (shared/base/mcp_token.c, shared/rpc/mcp_session.c)

sub sign {
    my ($purpose, $payload, $secret) = @_;

    my $key = sha256($secret // $KEY);

    return encode_base64url($payload . substr(sha256($key), 0, 1)
        . substr(hmac_sha256($purpose . $payload, $key), 0, 16));
}


sub digest { return substr sha256(join "\0", @_), 0, 16 }


# the 16 bytes of the session's internal id

sub session_id {
    my %o = @_;

    return digest('session', $o{id} // 1);
}


sub session {
    my %o = (revision => $LATEST, expires => time + 3600, @_);

    my $capabilities = 0;

    $capabilities |= $capabilities{$_} // die for @{$o{capabilities} // []};

    return sign('s', pack('C C n N a16 a16', 1, $revisions{$o{revision}},
        $capabilities, $o{expires}, session_id(%o),
        ($o{principal} // '') eq '' ? '' : digest($o{principal})), $o{key});
}


# the session id that backends and logs get

sub session_name { return encode_base64url(session_id(@_)) }


# the stream id of a session's GET

sub listener { return encode_base64url(digest('listen', session_id(@_))) }


# Header lines. Options: those of session(), and
#
#   session    the token, or undef for none
#   version    MCP-Protocol-Version
#   accept, type, after (Last-Event-ID), more (lines)

sub lines {
    my %o = @_;

    my $token = exists $o{session} ? $o{session} : session(%o);
    my @lines;

    push @lines, "Content-Type: $o{type}" if defined $o{type};
    push @lines, "Accept: $o{accept}" if defined $o{accept};
    push @lines, "Mcp-Session-Id: $token" if defined $token;
    push @lines, "MCP-Protocol-Version: $o{version}" if defined $o{version};
    push @lines, "Last-Event-ID: $o{after}" if defined $o{after};
    push @lines, $o{more} if defined $o{more};

    return join '', map { "$_\n" } @lines;
}


sub post {
    return lines(type => 'application/json',
        accept => 'application/json, text/event-stream', @_);
}

sub get { return lines(accept => 'text/event-stream', @_) }

sub end { return lines(@_) }

# for a request without a session

sub first { return post(session => undef, @_) }


# Requests

sub rpc {
    my ($method, $params, $id, $path) = @_;

    return 'POST ' . ($path // '/mcp') . "\n" . message(@_);
}


sub message {
    my ($method, $params, $id) = @_;

    return '{"jsonrpc":"2.0","id":' . ($id // 1) . ",\"method\":\"$method\""
        . (defined $params ? ",\"params\":$params" : '') . '}';
}


sub call {
    my ($name, $more, $id) = @_;

    return rpc('tools/call', "{\"name\":\"$name\"" . ($more // '') . '}', $id);
}


# a call with the progress token "p"

sub progress_call {
    return call(shift, ',"_meta":{"progressToken":"p"}', @_);
}


sub progress {
    my ($n, $token) = @_;

    $token //= '"p"';

    return '{"jsonrpc":"2.0","method":"notifications/progress","params":'
        . "{\"progressToken\":$token,\"progress\":$n}}";
}


sub text { return '{"content":[{"type":"text","text":"' . shift . '"}]}' }

sub answer {
    my ($result, $id) = @_;

    return '{"jsonrpc":"2.0","id":' . ($id // 1) . ",\"result\":$result}";
}


sub fault {
    my ($code, $message, $id) = @_;

    return '{"jsonrpc":"2.0",' . (defined $id ? "\"id\":$id," : '')
        . "\"error\":{\"code\":$code,\"message\":\"$message\"}}";
}


sub initialize {
    my ($revision, $capabilities, $id) = @_;

    return rpc('initialize', '{"protocolVersion":"' . ($revision // $LATEST)
        . '","capabilities":' . ($capabilities // '{}')
        . ',"clientInfo":{"name":"test","version":"1"}}', $id // 0);
}


# Blocks

sub plain_ids {
    return $_[0] =~ s/^id: \K[\w-]{22}(?=\.\d)/S/gmr
        =~ s/"id":"\K[\w-]{22}(?=\.\d+")/S/gr;
}


sub headers_of {
    my $request = shift;

    my ($line) = ref $request ? @$request : $request;

    $line = $line->{value} if ref $line;

    return $line =~ /^\s*POST/ ? post()
        : $line =~ /^\s*GET/ ? get()
        : $line =~ /^\s*DELETE/ ? end()
        : '';
}


sub expand_cases {
    my @cases = @{$block->cases};

    my (@request, @headers, @code, @body);

    for my $case (@cases) {
        my ($request, $headers, $code, $body) = @$case;

        push @request, $request;
        push @headers, $headers // headers_of($request);
        push @code, $code;
        push @body, ref $body ? $body
            : defined $body ? qr/\A\Q$body\E\z/
            : qr//;
    }

    $block->set_value(request => \@request);
    $block->set_value(more_headers => \@headers);

    if (@cases == 1) {
        $block->set_value(error_code => $code[0]);
        $block->set_value(response_body_like => $body[0]);

    } else {
        $block->set_value(error_code => \@code);
        $block->set_value(response_body_like => \@body);
    }
}


Test::Nginx::Util::add_block_preprocessor(sub {
    $block = shift;

    if (!defined $block->bare) {
        my $http = $block->http_config // '';
        my $files = $block->user_files // '';

        $block->set_value(http_config =>
            "    mcp_zone mcp 4m;\n    mcp_key ../html/mcp.key;\n$http");
        $block->set_value(user_files => ref $files
            ? [['mcp.key', $KEY], @$files]
            : ">>> mcp.key\n$KEY\n$files");
    }

    expand_cases() if defined $block->cases;

    if (defined $block->init) {
        $code = $block->init;
        $block->set_value(init => 'MCP::run()');

        if (!grep { defined $block->$_ }
            qw( request raw_request pipelined_requests ))
        {
            $block->set_value(request => rpc('ping'));
            $block->set_value(more_headers => post());
            $block->set_value(response_body => answer('{}'));
        }
    }

    $block->set_value(no_error_log => qr/\[(?:error|crit|alert|emerg)\]/)
        if !defined $block->error_log && !defined $block->no_error_log
            && !defined $block->must_die;

    $block->set_value(response_body_filters => \&plain_ids)
        if !defined $block->response_body_filters;
});


sub run {
    my $ok = eval "package main; use strict; $code; 1";

    Test::More::is($ok ? '' : $@, '', $block->name . ' - init ok');
}


# Sets the request of the block from code in --- init.

sub then_request {
    my ($request, $headers) = @_;

    $block->set_value(request => $request);
    $block->set_value(more_headers => $headers // headers_of($request));
}


# Dies with both texts if they differ. Event ids become "S".

sub same {
    my ($got, $expected) = @_;

    $got = plain_ids($got // '');

    return 1 if ref $expected ? $got =~ $expected : $got eq $expected;

    die "got:\n$got\nexpected:\n$expected\n";
}


# Waits for these lines of the access log, which are written after the answer.

sub expect_access_log {
    my @lines = @_;

    my $path = Test::Nginx::Util::server_root() . '/logs/access.log';
    my $end = time + $TIMEOUT;

    while (1) {
        open my $in, '<', $path or die "$path: $!\n";

        my $log = join '', <$in>;
        my @missing = grep { $log !~ /^\Q$_\E$/m } @lines;

        return if !@missing;
        die "not \"$missing[0]\" in:\n$log" if time > $end;
        select undef, undef, undef, 0.005;
    }
}


# Events

sub event {
    my ($n, $data) = @_;

    return "id: S.$n\ndata: $data\n\n";
}


sub priming {
    my ($n, $retry) = @_;

    $retry //= 2000;

    return 'id: S.' . ($n // 0) . "\nretry: $retry\ndata: \n\n";
}


# Sockets that the test controls; each read dies after $TIMEOUT

sub peer {
    my $sock = shift;

    $sock or die "no connection: $!\n";

    return bless { sock => $sock, in => '' }, 'MCP::Peer';
}


# Sends a request and returns at once. With HTTP/1.0 the answer has no chunks
# and ends with the connection.

sub begin {
    my ($request, $headers) = @_;

    my ($line, $body) = split /\n/, $request, 2;

    $body //= '';
    $headers //= headers_of($request);
    $headers =~ s/\n/\r\n/g;

    my $peer = peer(IO::Socket::INET->new(
        PeerAddr => Test::Nginx::Util::server_addr(),
        PeerPort => Test::Nginx::Util::server_port_for_client(),
        Timeout => $TIMEOUT,
    ));

    return $peer->send("$line HTTP/1.0\r\nHost: localhost\r\n"
        . ($body ne '' ? 'Content-Length: ' . length($body) . "\r\n" : '')
        . "$headers\r\n$body");
}


# Sends a request and returns the whole answer: head and body.

sub ask { return begin(@_)->rest }


# The configuration of an endpoint whose backend is backend(), with further
# directives for the endpoint and for the backend's location.

sub own {
    my ($endpoint, $location) = map { $_ // '' } @_[0, 1];

    return <<"END";
    location = /mcp { mcp mcp; mcp_backend \@own; $endpoint }
    location \@own {
        proxy_http_version 1.1;
        proxy_buffering off;
        proxy_pass http://unix:\$TEST_NGINX_HTML_DIR/backend.sock;
        $location
    }
END
}


# Starts a backend at the Unix socket html/backend.sock.

sub backend {
    my $path = "$ENV{TEST_NGINX_HTML_DIR}/backend.sock";

    unlink $path;

    my $sock = IO::Socket::UNIX->new(Local => $path, Listen => 16)
        or die "$path: $!\n";

    return bless { sock => $sock }, 'MCP::Backend';
}


package MCP::Backend;

sub connection {
    my $self = shift;

    IO::Select->new($self->{sock})->can_read($MCP::TIMEOUT)
        or die "nobody calls the backend\n";

    return MCP::peer(scalar $self->{sock}->accept);
}

# Accepts the next connection and reads its request.

sub call {
    my $peer = shift->connection;

    my $head = $peer->until(qr/\r\n\r\n/);

    if ($head =~ /^Content-Length: (\d+)\r$/mi) {
        my $length = $1;

        $peer->until(qr/\r\n\r\n.{$length}/s);
    }

    return $peer;
}

# Returns true if a backend connection arrives before the client's answer.

sub wanted {
    my ($self, $client) = @_;

    my $both = IO::Select->new($self->{sock}, $client->{sock});

    return grep { $_ == $self->{sock} } $both->can_read($MCP::TIMEOUT);
}


package MCP::Peer;

sub send {
    my ($self, @parts) = @_;

    for my $part (@parts) {
        my $at = 0;

        while ($at < length $part) {
            my $n = syswrite $self->{sock}, $part, length($part) - $at, $at;

            die "cannot send: $!\n" if !defined $n;
            $at += $n;
        }
    }

    return $self;
}

# Sends the head of an answer; the body follows in chunks.

sub head {
    my ($self, $type, $status) = @_;

    $self->{chunked} = 1;

    return $self->send('HTTP/1.1 ' . ($status // 200) . " OK\r\n"
        . "Content-Type: $type\r\nTransfer-Encoding: chunked\r\n"
        . "Connection: close\r\n\r\n");
}

sub chunk {
    my ($self, @parts) = @_;

    return $self->send(CORE::join '', map { sprintf "%x\r\n%s\r\n", length, $_ }
        grep { length } @parts);
}

sub last {
    my $self = shift;

    $self->send("0\r\n\r\n") if $self->{chunked};

    return $self->close;
}

# ends an unfinished chunked answer in order

sub DESTROY {
    my $self = shift;

    local ($@, $!);

    eval { $self->last } if $self->{chunked};
}

sub ndjson {
    my ($self, @lines) = @_;

    $self->head('application/x-ndjson') if !$self->{begun}++;

    return $self->chunk(map { "$_\n" } @lines);
}

# Sends a whole answer.

sub reply {
    my ($self, $type, $body, $status) = @_;

    return $self->send('HTTP/1.1 ' . ($status // 200) . " OK\r\n"
        . "Content-Type: $type\r\nContent-Length: " . length($body)
        . "\r\n\r\n$body")->close;
}

sub read {
    my $self = shift;

    IO::Select->new($self->{sock})->can_read($MCP::TIMEOUT)
        or die "nothing came after \"$self->{in}\"\n";

    my $n = sysread $self->{sock}, $self->{in}, 65536, length $self->{in};

    return $n;
}

# Reads until the pattern matches and returns the bytes.

sub until {
    my ($self, $pattern) = @_;

    while ($self->{in} !~ $pattern) {
        $self->read or die "no $pattern in \"$self->{in}\"\n";
    }

    return $self->{in};
}

# Reads until the other side closes.

sub rest {
    my $self = shift;

    1 while $self->read;

    return $self->{in};
}

sub in { return shift->{in} }

sub status { return shift->until(qr{\AHTTP/1\.\d (\d+) }) =~ / (\d+) / && $1 }

# Reads until the other side closes and returns the body.

sub body { return shift->rest =~ s/\A.*?\r\n\r\n//sr }

# Waits until the other side closes.

sub closed {
    my $self = shift;

    $self->rest;

    return 1;
}

sub close {
    my $self = shift;

    $self->{chunked} = 0;
    CORE::close($self->{sock});

    return $self;
}

# Returns the last event id that arrived.

sub last_id {
    my $self = shift;

    my @ids = $self->{in} =~ /^id: (\S+)$/mg;

    return $ids[-1] // die "no event id in \"$self->{in}\"\n";
}

# Waits for the event with this number.

sub upto {
    my ($self, $seq) = @_;

    $self->until(qr/^id: [\w-]+\.$seq\n(?:.+\n)*\n/m);

    return $self->last_id;
}

1;
