# SPDX-License-Identifier: Apache-2.0

package Test::Nginx::Util;

# The server side of a small loader for Test::Nginx files: settings, the server
# root, nginx.conf, starting and stopping nginx, logs.
#
# The loader knows those sections of openresty's Test::Nginx that the files in
# t/ use, so that these run with either loader.

use v5.14;
use strict;
use warnings;

use Exporter 'import';
use File::Path qw( make_path remove_tree );
use File::Spec ();
use IO::Socket::INET ();
use List::Util qw( shuffle );
use POSIX qw( :sys_wait_h );
use Scalar::Util qw( looks_like_number );
use Test::Builder ();
use Time::HiRes qw( sleep time );

our @EXPORT = qw(
    add_block_preprocessor add_cleanup_handler add_test_cleanup_handler
    access_log_data error_log_data bail_out check_accum_error_log
    config_preamble env_to_nginx expand_env_in_text get_canon_version
    get_nginx_version html_dir log_level master_off master_on
    master_process_enabled no_long_string no_root_location no_shuffle
    parse_time repeat_each run_tests server_addr server_name server_port
    server_port_for_client server_root sleep_time timeout use_hup
    worker_connections workers
    $ServerPort $ServerPortForClient $ServerAddr $ServerName $ServRoot
    $NginxVersion $NoLongString $RunTestHelper $RepeatEach
);


# Settings

our $Randomize = $ENV{TEST_NGINX_RANDOMIZE};
our $ServerPort = $ENV{TEST_NGINX_SERVER_PORT} || $ENV{TEST_NGINX_PORT} || 1984;
our $ServerAddr = '127.0.0.1';
our $ServerName = 'localhost';

$ServerPort = free_port() if $Randomize;

our $ServerPortForClient
    = !$Randomize && $ENV{TEST_NGINX_CLIENT_PORT} || $ServerPort;

our $ServRoot = $Randomize
    ? File::Spec->rel2abs("t/servroot_$ServerPort")
    : $ENV{TEST_NGINX_SERVROOT} || File::Spec->rel2abs('t/servroot');

$ENV{TEST_NGINX_SERVER_ROOT} = $ServRoot;
$ENV{TEST_NGINX_SERVER_PORT} //= $ServerPort;

our $NginxBinary = $ENV{TEST_NGINX_BINARY} || 'nginx';
our $LoadModules = $ENV{TEST_NGINX_LOAD_MODULES} // '';
our $Verbose = $ENV{TEST_NGINX_VERBOSE};
our $RepeatEach = 1;
our $NoLongString;
our $NginxVersion;

# checks the requests of a block; set by Test::Nginx::Socket
our $RunTestHelper;

my $log_dir = "$ServRoot/logs";
my $html_dir = "$ServRoot/html";
my $conf_dir = "$ServRoot/conf";
my $error_log = "$log_dir/error.log";
my $access_log = "$log_dir/access.log";
my $stderr_log = "$log_dir/stderr.log";

my $workers = 1;
my $worker_connections = 64;
my $log_level = $ENV{TEST_NGINX_LOG_LEVEL} || 'debug';
my $master_process = $ENV{TEST_NGINX_MASTER_PROCESS} || 'off';
my $timeout = $ENV{TEST_NGINX_TIMEOUT} || 3;
my $sleep_time = $ENV{TEST_NGINX_SLEEP} || 0.015;
my $no_shuffle = $ENV{TEST_NGINX_NO_SHUFFLE};
my $no_root_location;
my $accumulate_error_log;
my $preamble = '';
my @env_to_nginx;
my @preprocessors;
my @cleanup;
my @test_cleanup;

sub no_long_string () { $NoLongString = 1 }
sub no_root_location () { $no_root_location = 1 }
sub no_shuffle () { $no_shuffle = 1 }
sub check_accum_error_log () { $accumulate_error_log = 1 }
sub master_on () { $master_process = 'on' }
sub master_off () { $master_process = 'off' }
sub use_hup () { bail_out('use_hup is not supported by this loader') }

sub sleep_time { $sleep_time }
sub html_dir () { $html_dir }
sub server_root () { $ServRoot }
sub config_preamble ($) { $preamble = shift }
sub env_to_nginx (@) { push @env_to_nginx, @_ }
sub add_cleanup_handler ($) { push @cleanup, shift }
sub add_test_cleanup_handler ($) { push @test_cleanup, shift }
sub add_block_preprocessor (&) { unshift @preprocessors, shift }

sub repeat_each (@) { $RepeatEach = shift if @_; $RepeatEach }
sub server_addr (@) { $ServerAddr = shift if @_; $ServerAddr }
sub server_name (@) { $ServerName = shift if @_; $ServerName }
sub server_port (@) { $ServerPort = shift if @_; $ServerPort }

sub server_port_for_client (@) {
    $ServerPortForClient = shift if @_;
    return $ServerPortForClient;
}

sub timeout (@) { $timeout = shift if @_; $timeout }
sub workers (@) { $workers = shift if @_; $workers }
sub log_level (@) { $log_level = shift if @_; $log_level }

sub worker_connections (@) {
    $worker_connections = shift if @_;
    return $worker_connections;
}

sub master_process_enabled (@) {
    $master_process = shift() ? 'on' : 'off' if @_;
    return $master_process;
}


sub bail_out (@) {
    stop_nginx('bail_out');
    Test::Builder->new->BAIL_OUT("@_");
}


# Converts "300ms", "2s" and "2" to seconds.

sub parse_time ($) {
    my $text = shift;

    return undef if !defined $text;

    return $1 / 1000 if $text =~ /^\s*([\d.]+)ms\s*$/;
    return $1 if $text =~ /^\s*([\d.]+)s?\s*$/;

    return $text;
}


sub free_port {
    my %taken = map { $_ => 1 } @_;

    for (1 .. 1000) {
        my $port = 10000 + int rand 22000;

        next if $taken{$port};

        my $probe = IO::Socket::INET->new(
            LocalAddr => '127.0.0.1',
            LocalPort => $port,
            Listen => 1,
        ) or next;

        close $probe;

        return $port;
    }

    die "no free port\n";
}


# Expands $TEST_NGINX_* in configurations. $TEST_NGINX_RAND_PORT_<n> is a free
# port, which is the same throughout a block.

my %rand_ports;

sub expand_env_in_text ($;$$) {
    my ($text, $name) = @_;

    return $text if !defined $text || ref $text;

    $text =~ s{\$(TEST_NGINX_[_A-Z0-9]+)}{ setting($1, $name) }eg;

    return $text;
}


sub setting {
    my ($key, $name) = @_;

    return $ENV{$key} // bail_out("$name - no environment variable $key")
        if $key !~ /^TEST_NGINX_RAND_PORT_[0-9]+$/;

    $rand_ports{$key} = free_port($ServerPort, values %rand_ports)
        if !$rand_ports{$key};

    return $rand_ports{$key};
}


# Versions

sub get_canon_version (@) {
    return sprintf '%d.%03d%03d', @_;
}


sub get_nginx_version () {
    my $out = `$NginxBinary -v 2>&1`;

    return if $out !~ m{/(\d+)\.(\d+)\.(\d+)};

    return get_canon_version($1, $2, $3);
}


# The server root

sub setup_server_root {
    remove_tree($ServRoot) if -d $ServRoot;

    make_path($log_dir, $html_dir, $conf_dir);

    write_file("$html_dir/index.html",
        '<html><head><title>It works!</title></head>'
            . '<body>It works!</body></html>');
}


sub write_file {
    my ($path, $text) = @_;

    open my $out, '>', $path or bail_out("cannot write $path: $!");
    binmode $out;
    print $out $text;
    close $out or bail_out("cannot write $path: $!");
}


# --- user_files: lines ">>> name [date]", each followed by the content, or an
# array of [name, content, date]

sub write_user_files {
    my $block = shift;

    my $spec = $block->user_files;

    return if !defined $spec || $spec eq '';

    my @files;

    if (ref $spec) {
        @files = @$spec;

    } else {
        for my $line (split /^/, $spec) {
            if ($line =~ /^>>> (\S+)(?:\s+(.+))?/) {
                push @files, [$1, '', $2];

            } elsif (@files) {
                $files[-1][1] .= $line;
            }
        }
    }

    for my $file (@files) {
        my ($path, $text, $date) = @$file;

        $path = "$html_dir/$path" if $path !~ m{^/};

        make_path($1) if $path =~ m{(.*)/};

        write_file($path, expand_env_in_text($text // '', $block->name));

        if (defined $date && $date ne '') {
            local $ENV{TZ} = 'GMT';
            system('touch', '-t', $date, $path) == 0
                or bail_out("cannot touch $path");
        }
    }
}


sub write_config_file {
    my ($block, $config) = @_;

    my $name = $block->name;
    my $level = $block->log_level || $log_level;
    my $log = expand_env_in_text($block->error_log_file || $error_log, $name);

    # in list context a missing section is an empty list

    my ($main, $http, $post_main)
        = map { expand_env_in_text($block->$_ // '', $name) }
            qw( main_config http_config post_main_config );

    my $modules = join '', map { "load_module $_;\n" } split ' ', $LoadModules;
    my $env = join '', map { /\s/ ? "env '$_';\n" : "env $_;\n" } @env_to_nginx;
    my $user = $> == 0 ? "user root;\n" : '';

    my $paths = join '', map {
        $http =~ /\b$_\b/ ? '' : "    $_ $ServRoot/" . s/_path$//r . ";\n"
    } qw( client_body_temp_path proxy_temp_path fastcgi_temp_path
        scgi_temp_path uwsgi_temp_path );

    my $root = $no_root_location ? '' : <<"END";
        location / {
            root $html_dir;
            index index.html index.htm;
        }
END

    my $server_name = ($block->server_name // $ServerName) =~ s/(['\\])/\\$1/gr;

    write_file("$conf_dir/nginx.conf", <<"END");
worker_processes  $workers;
daemon off;
master_process $master_process;
error_log $log $level;
pid $log_dir/nginx.pid;
env ASAN_OPTIONS;
env UBSAN_OPTIONS;
env LSAN_OPTIONS;
$user$env$modules
$main

http {
    access_log $access_log;
$paths
    default_type text/plain;
    keepalive_timeout 68000ms;

$http

    server {
        listen $ServerAddr:$ServerPort;
        server_name '$server_name';

        client_max_body_size 30M;

$preamble
$config

$root    }
}

$post_main

events {
    accept_mutex off;
    worker_connections $worker_connections;
}
END
}


# nginx runs in the foreground as a child of this process, in a process group of
# its own. So its pid is known, and signals reach only our own processes.

my $nginx_pid;
my $nginx_status;

sub start_nginx {
    my $pid = fork() // bail_out("cannot fork: $!");

    if ($pid == 0) {
        setpgrp;
        open STDIN, '<', '/dev/null';
        open STDOUT, '>', '/dev/null';
        open STDERR, '>', $stderr_log;

        exec { $NginxBinary } $NginxBinary, '-e', $error_log, '-p',
            "$ServRoot/", '-c', "$conf_dir/nginx.conf"
            or POSIX::_exit(127);
    }

    undef $nginx_status;

    return $nginx_pid = $pid;
}


# Tells whether nginx has ended; its wait status is then in $nginx_status.

sub nginx_ended {
    return 1 if !$nginx_pid;

    if (waitpid($nginx_pid, WNOHANG) == $nginx_pid) {
        $nginx_status = $?;
        undef $nginx_pid;
    }

    return !$nginx_pid;
}


# nginx writes its pid file once it listens

sub nginx_ready {
    open my $in, '<', "$log_dir/nginx.pid" or return;

    my $pid = <$in>;

    return if !defined $pid || !$nginx_pid || $pid != $nginx_pid;

    return IO::Socket::INET->new(
        PeerAddr => $ServerAddr,
        PeerPort => $ServerPortForClient,
    );
}


sub poll_until {
    my ($seconds, $done) = @_;

    my $end = time + $seconds;
    my $step = 0.001;

    until ($done->()) {
        return if time > $end;

        sleep $step;
        $step *= 1.5 if $step < 0.02;
    }

    return 1;
}


sub stop_nginx {
    my $name = shift;

    return if !$nginx_pid || nginx_ended();

    kill $ENV{TEST_NGINX_FAST_SHUTDOWN} ? 'TERM' : 'QUIT', $nginx_pid;

    return if poll_until($timeout, \&nginx_ended);

    warn "$name - nginx does not end gracefully, terminating it\n";

    for my $signal (qw( TERM KILL )) {
        my $group = -$nginx_pid;

        kill $signal, $signal eq 'KILL' ? $group : $nginx_pid;

        return if poll_until($timeout, \&nginx_ended);
    }

    warn "$name - nginx ($nginx_pid) cannot be killed\n";
}


sub file_tail {
    my $path = shift;

    open my $in, '<', $path or return '';

    my @lines = <$in>;

    splice @lines, 0, -20 if @lines > 20;

    return wantarray ? @lines : join '', @lines;
}


sub start_or_bail_out {
    my $name = shift;

    # an nginx that is about to end may still hold the port

    for my $try (1 .. 5) {
        start_nginx();

        return if poll_until(30, sub { nginx_ended() || nginx_ready() })
            && !nginx_ended();

        stop_nginx($name);

        last if file_tail($error_log) !~ /Address already in use/;
    }

    my @reasons = grep { /\[(?:emerg|alert)\]|ERROR:/ }
        file_tail($stderr_log), file_tail($error_log);

    # a bail-out message is one line

    bail_out("$name - cannot start nginx: "
        . ($reasons[0] // 'see ' . $error_log) =~ s/\s+/ /gr);
}


# --- must_die: nginx refuses the configuration, optionally with an exit code

sub expect_death {
    my $block = shift;

    my $name = $block->name;
    my $tb = Test::Builder->new;
    my $expected = $block->must_die;

    for my $i (0 .. $RepeatEach - 1) {
        start_nginx();

        my $ended = poll_until($timeout,
            sub { nginx_ended() || nginx_ready() }) && nginx_ended();

        stop_nginx($name) if !$ended;

        if (!$ended) {
            $tb->ok(0, "$name - die as expected");

        } elsif ($nginx_status & 127) {
            $tb->ok(0, "$name - nginx died of signal "
                . ($nginx_status & 127));

        } elsif (looks_like_number($expected)) {
            $tb->is_num($nginx_status >> 8, $expected,
                "$name - die with the expected exit code");

        } else {
            $tb->isnt_num($nginx_status, 0, "$name - die as expected");
        }

        $RunTestHelper->($block, $i, 'log only');
    }
}


# Logs

my $error_log_pos = 0;

sub read_lines {
    my ($path, $pos) = @_;

    open my $in, '<', $path or return ([], $pos);

    seek $in, $pos, 0;

    my @lines = <$in>;

    return (\@lines, tell $in);
}


sub access_log_data () {
    my ($lines) = read_lines($access_log, 0);

    return $lines;
}


# Returns the lines that the current request has logged: those since the last
# call with a true argument.

sub error_log_data {
    my $forget = shift;

    my ($lines, $pos) = read_lines($error_log, $error_log_pos);

    $error_log_pos = $pos if $forget && !$accumulate_error_log;

    return $lines;
}


# Blocks

sub version_matches {
    my ($op, $version) = @_;

    my $canon = get_canon_version(split /\./, $version);

    return if !defined $NginxVersion;

    return $op eq '<' ? $NginxVersion < $canon
        : $op eq '<=' ? $NginxVersion <= $canon
        : $op eq '>' ? $NginxVersion > $canon
        : $NginxVersion >= $canon;
}


# Returns the number of tests to skip and the reason, from --- skip_nginx or
# --- skip_eval.

sub skip_of {
    my $block = shift;

    my $name = $block->name;

    if (defined(my $spec = $block->skip_nginx)) {
        $spec =~ /^\s*(\d+)\s*:\s*([<>]=?)\s*(\d+\.\d+\.\d+)(?:\s*:\s*(.*?))?\s*$/s
            or bail_out("$name - bad --- skip_nginx: $spec");

        my ($n, $op, $version, $reason) = ($1, $2, $3, $4);

        return ($n, $reason || "nginx version $op $version")
            if version_matches($op, $version);
    }

    if (defined(my $spec = $block->skip_eval)) {
        $spec =~ /^\s*(\d+)\s*:\s*(.*)/s
            or bail_out("$name - bad --- skip_eval: $spec");

        my ($n, $code) = ($1, $2);
        my $skip = eval "package main; $code";

        bail_out("$name - skip_eval: $@") if $@;

        return ($n, 'skip_eval') if $skip;
    }

    return;
}


sub eval_section {
    my ($block, $section) = @_;

    my $code = $block->$section;

    return if !defined $code || $code eq '';

    if (ref $code eq 'CODE') {
        eval { $code->() };

    } else {
        eval "package main; $code";
    }

    bail_out($block->name . " - $section failed: $@") if $@;
}


my $running_config;

sub run_block {
    my $block = shift;

    my $name = $block->name;
    my $tb = Test::Builder->new;

    %rand_ports = ();

    my ($skip, $reason) = skip_of($block);

    if ($skip) {
        $tb->skip("$name - $reason") for 1 .. $skip * $RepeatEach;
        return;
    }

    my $config = expand_env_in_text($block->config, $name);

    if (defined $config || defined $block->must_die) {
        stop_nginx($name);
        setup_server_root();
        eval_section($block, 'post_setup_server_root');
        write_user_files($block);
        write_config_file($block, $config // '');
        $error_log_pos = 0;

        return expect_death($block) if defined $block->must_die;

        start_or_bail_out($name);
        $running_config = $config;

    } elsif (!defined $running_config || nginx_ended()) {
        bail_out("$name - no --- config, and no nginx runs from a block before");
    }

    eval_section($block, 'init');

    $error_log_pos = 0;

    for my $i (0 .. $RepeatEach - 1) {
        write_user_files($block) if $i > 0;
        $RunTestHelper->($block, $i);
    }

    if (nginx_ended() && $nginx_status & 127) {
        my $signal = $nginx_status & 127;

        $tb->no_ending(1);
        $tb->ok(0, "$name - nginx died of signal $signal");
        $tb->diag(scalar file_tail($stderr_log));
    }
}


sub run_tests () {
    $NginxVersion = get_nginx_version();

    my @blocks = Test::Base::blocks();

    @blocks = shuffle @blocks if !$no_shuffle;

    for my $block (@blocks) {
        $_->($block) for @preprocessors;

        next if defined $block->SKIP;

        $block->set_value(name => "$0 " . $block->name);

        run_block($block);

        $_->($block) for @test_cleanup;
    }

    $_->() for @cleanup;

    stop_nginx($0);

    remove_tree($ServRoot) if $Randomize && Test::Builder->new->is_passing;
}


my $owner = $$;

$SIG{$_} = sub { exit 1 } for qw( INT TERM HUP );
$SIG{PIPE} = 'IGNORE';

END {
    local $?;
    stop_nginx($0) if $$ == $owner;
}

1;
