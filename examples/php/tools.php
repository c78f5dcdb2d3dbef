<?php
// SPDX-License-Identifier: Apache-2.0
// Three tools in PHP, for PHP-FPM.  "php tools.php --catalog > catalog.json"
// writes the catalog.
//
//     location @php {
//         include            mcp_fastcgi_params;
//         fastcgi_param      SCRIPT_FILENAME /srv/mcp/tools.php;
//         fastcgi_buffering  off;
//         fastcgi_pass       unix:/run/php/php-fpm.sock;
//     }
//
//     <Location "/mcp-backend/php">
//         SetHandler  "proxy:unix:/run/php/php-fpm.sock|fcgi://php/srv/mcp/tools.php"
//     </Location>

require __DIR__ . '/mcp.php';

$string = ['type' => 'string'];
$integer = ['type' => 'integer'];
$mcp = new Mcp();

$mcp->tool('greet', [
    'description' => 'Greets somebody',
    'inputSchema' => ['type' => 'object', 'properties' => ['name' => $string]],
    'outputSchema' => ['type' => 'object', 'properties' => ['greeting' => $string]],
], function (array $args) {
    $greeting = 'Hello, ' . ($args['name'] ?? 'world') . '!';
    return Mcp::structured(['greeting' => $greeting], $greeting);
});

$mcp->tool('count', [
    'description' => 'Counts to n and reports its progress',
    'inputSchema' => ['type' => 'object', 'properties' => ['n' => $integer]],
], function (array $args, Mcp $call) {
    $n = $args['n'] ?? 3;

    if (!is_int($n) || $n < 1 || $n > 100) {
        throw new ToolError('n must be an integer from 1 to 100.');
    }

    for ($i = 1; $i <= $n; $i++) {
        $call->progress($i, $n, "$i of $n");        // the work of one step
    }

    return "Counted to $n.";
});

$mcp->tool('book', [
    'description' => 'Books a table, and asks the user for the time',
    'inputSchema' => ['type' => 'object', 'properties' => ['people' => $integer]],
], function (array $args, Mcp $call) use ($string) {
    $people = $args['people'] ?? 2;
    $answer = $call->ask('when', "A table for $people: at what time?", [
        'type' => 'object', 'properties' => ['time' => $string], 'required' => ['time']]);

    return $answer ? "A table for $people at {$answer['time']}." : 'No table was booked.';
});

$mcp->run();
