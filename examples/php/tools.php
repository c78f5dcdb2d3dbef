<?php
// SPDX-License-Identifier: Apache-2.0
// Tools in PHP, for php-fpm:
//
//     location @php {
//         include            mcp_fastcgi_params;
//         fastcgi_param      SCRIPT_FILENAME /srv/tools.php;
//         fastcgi_buffering  off;
//         fastcgi_pass       unix:/run/php/php-fpm.sock;
//     }
//
// or, in Apache:
//
//     <Location "/mcp-backend/php">
//         SetHandler  "proxy:unix:/run/php/php-fpm.sock|fcgi://php/srv/tools.php"
//     </Location>
//
// The body is the JSON-RPC request.  The answer is the result, or any number
// of notifications and then the result, each on a line of its own.

$request = json_decode(file_get_contents('php://input'));
$params = $request->params;
$arguments = $params->arguments ?? new stdClass();

function text(string $text): array
{
    return ['type' => 'text', 'text' => $text];
}

function send(array $message): void
{
    echo json_encode($message), "\n";

    while (ob_get_level()) {
        ob_end_flush();
    }

    flush();
}

function progress(float $done, float $total, string $message): void
{
    global $params;

    if (isset($params->_meta->progressToken)) {
        send(['jsonrpc' => '2.0', 'method' => 'notifications/progress',
              'params' => ['progressToken' => $params->_meta->progressToken,
                           'progress' => $done, 'total' => $total,
                           'message' => $message]]);
    }
}

$tools = [
    'php_hello' => fn ($arguments) =>
        ['content' => [text('Hello, ' . ($arguments->name ?? 'world') . '!')]],

    'php_slow' => function ($arguments) {
        $steps = $arguments->steps ?? 5;

        for ($step = 1; $step <= $steps; $step++) {
            sleep(1);
            progress($step, $steps, "step $step");
        }

        return ['content' => [text("$steps steps done")]];
    },
];

header('Content-Type: application/x-ndjson');

$tool = $tools[$params->name ?? ''] ?? null;

send($tool
    ? $tool($arguments)
    : ['jsonrpc' => '2.0', 'id' => $request->id,
       'error' => ['code' => -32602, 'message' => 'Unknown tool']]);
