# SPDX-License-Identifier: Apache-2.0
# Tools of an MCP backend, for Perl 5.14 or later; see tools.pl.  A program runs
# as a CGI script, or, if the module FCGI is installed, as a FastCGI program.
#
# $mcp->tool(NAME, ENTRY, SUB) declares a tool.  ENTRY is its entry in the
# catalog, without the name.  The sub gets the arguments, which the web server
# has not checked, and this object.  It returns a string (text), an array
# (content blocks), structured() or another hash (the result as it is).
# The model reads the message of fail().  Other exceptions are only logged.

package Mcp;

use strict;
use warnings;
use Exporter 'import';
use JSON::PP ();
use MIME::Base64 ();

our @EXPORT_OK = qw(fail image structured text);
my $json = JSON::PP->new->utf8->canonical->max_depth(2048);
my $plain = JSON::PP->new->canonical;              # characters, not bytes

sub new { bless { tools => {}, names => [] }, shift }

sub tool {
    my ($self, $name, $entry, $run) = @_;

    push @{$self->{names}}, $name;
    $self->{tools}{$name} = { entry => { name => $name, %$entry }, run => $run };
}

# Ends the call with an error that the model reads.

sub fail { die bless { message => shift }, 'Mcp::Error' }

sub text { +{ type => 'text', text => "$_[0]" } }

sub image {
    my ($bytes, $type) = @_;
    return { type => 'image', data => MIME::Base64::encode($bytes, ''), mimeType => $type };
}

sub structured {
    my ($data, $text) = @_;
    return { content => [text($text // $plain->encode($data))], structuredContent => $data };
}

sub progress {
    my ($self, $done, $total, $message) = @_;
    my $token = $self->{params}{_meta}{progressToken} // return;

    $self->_send({ jsonrpc => '2.0', method => 'notifications/progress', params => {
        progressToken => $token, progress => 0 + $done,
        defined $total ? (total => 0 + $total) : (),
        defined $message ? (message => "$message") : () } });
}

# Returns whether the client shows forms to its user.

sub can_ask {
    my $able = $json->decode($_[0]{env}{MCP_CLIENT_CAPABILITIES} || '{}');
    my $modes = $able->{elicitation} // return 0;

    return !%$modes || exists $modes->{form};
}

# Returns the fields of the user's answer, or undef if the user declined.  Once
# the user has answered, the tool runs again from its beginning: let it change
# nothing before its last question.

sub ask {
    my ($self, $key, $message, $schema) = @_;
    my $answer = $self->{answers}{$key};

    return $answer->{action} eq 'accept' ? $answer->{content} // {} : undef if $answer;

    die bless { resultType => 'input_required',
        inputRequests => { $key => { method => 'elicitation/create',
            params => { message => $message, requestedSchema => $schema } } },
        requestState => $plain->encode($self->{answers}) }, 'Mcp::Question';
}

sub run {
    my $self = shift;

    if (@ARGV && $ARGV[0] eq '--catalog') {
        print $json->pretty->encode({
            tools => [map { $self->{tools}{$_}{entry} } @{$self->{names}}] });
        return;
    }

    my %env;
    my $fcgi = eval { require FCGI; FCGI::Request(\*STDIN, \*STDOUT, \*STDERR, \%env) };

    if ($fcgi && $fcgi->IsFastCGI) {
        $self->_call(\%env, sub { $fcgi->Flush }) while $fcgi->Accept >= 0;
    } else {
        $self->_call(\%ENV, sub { STDOUT->flush });
    }
}

sub _call {
    my ($self, $env, $flush) = @_;
    my ($body, $size) = ('', $env->{CONTENT_LENGTH} || 0);

    while (length $body < $size) {
        read STDIN, $body, $size - length $body, length $body or last;
    }

    my $request = $json->decode($body);
    my $params = $request->{params} // {};
    my $name = $params->{name} // '';

    @$self{qw(env flush params)} = ($env, $flush, $params);
    print "Content-Type: application/x-ndjson\r\n\r\n";

    my $tool = $self->{tools}{$name} or return $self->_send({
        jsonrpc => '2.0', id => $request->{id},
        error => { code => -32602, message => "Unknown tool: $name" } });

    my $line = eval {
        $self->{answers} = { %{$params->{inputResponses} // {}},
                             %{$plain->decode($params->{requestState} // '{}')} };

        my $result = $tool->{run}->($params->{arguments} // {}, $self) // [];
        $result = [text($result)] if ref($result) !~ /^(ARRAY|HASH)$/;
        $json->encode(ref $result eq 'ARRAY' ? { content => $result } : $result);
    };

    return $self->_print($line) if defined $line;

    my $error = $@;
    my $kind = ref $error;

    return $self->_send({%$error}) if $kind eq 'Mcp::Question';
    warn "MCP tool $name: $error" if $kind ne 'Mcp::Error';
    $self->_send({ isError => JSON::PP::true, content => [
        text($kind eq 'Mcp::Error' ? $error->{message} : 'The tool has failed.')] });
}

sub _send { $_[0]->_print($json->encode($_[1])) }

sub _print {
    my ($self, $line) = @_;

    print $line, "\n";
    $self->{flush}->();
}

1;
