<?php
// SPDX-License-Identifier: Apache-2.0
//
// A small MCP server that serves clients as PHP frameworks do: revision
// 2025-11-25 with sessions in files, where a question to the user holds a
// process of PHP-FPM until the user has answered; and revision 2026-07-28, where
// the question is the result, and the client calls again with the answer.

$directory = getenv('SESSIONS') ?: sys_get_temp_dir() . '/php-pool';
$message = json_decode(file_get_contents('php://input'), true);
$method = $message['method'] ?? null;
$id = $message['id'] ?? null;
$params = $message['params'] ?? [];
$modern = ($_SERVER['HTTP_MCP_PROTOCOL_VERSION'] ?? '') === '2026-07-28';

@mkdir($directory, 0700, true);

function respond($result, $status = 200)
{
    global $id, $modern;

    http_response_code($status);
    header('Content-Type: application/json');

    if ($modern && !isset($result['resultType'])) {
        $result['resultType'] = 'complete';
    }

    echo json_encode(['jsonrpc' => '2.0', 'id' => $id, 'result' => $result]);
    exit;
}

function fail($status, $code, $text)
{
    global $id;

    http_response_code($status);
    header('Content-Type: application/json');
    echo json_encode(['jsonrpc' => '2.0', 'id' => $id,
                      'error' => ['code' => $code, 'message' => $text]]);
    exit;
}

function text($text)
{
    return ['content' => [['type' => 'text', 'text' => $text]]];
}

const QUESTION = [
    'message' => 'What is your name?',
    'requestedSchema' => ['type' => 'object', 'properties' => [
        'name' => ['type' => 'string']], 'required' => ['name']],
];

// Asks the user as revision 2025-11-25 does: by an event on the response, and
// waits for another request with the answer. Ten seconds are less than most
// frameworks wait.

function ask_on_stream($session)
{
    global $directory, $id;

    $key = bin2hex(random_bytes(8));
    $file = "$directory/$session.$key";

    header('Content-Type: text/event-stream');

    while (ob_get_level()) {
        ob_end_flush();
    }

    echo 'data: ' . json_encode(['jsonrpc' => '2.0', 'id' => $key,
        'method' => 'elicitation/create', 'params' => QUESTION]) . "\n\n";
    flush();

    for ($i = 0; $i < 100 && !file_exists($file); $i++) {
        usleep(100000);
        clearstatcache();
    }

    $answer = file_exists($file) ? json_decode(file_get_contents($file), true)
                                 : null;
    @unlink($file);

    $result = $answer ? text("Hello, {$answer['content']['name']}!")
        : text('No answer in time') + ['isError' => true];

    echo 'data: ' . json_encode(['jsonrpc' => '2.0', 'id' => $id,
                                 'result' => $result]) . "\n\n";
    exit;
}

function call($params, $session)
{
    global $modern;

    if ($params['name'] === 'quick') {
        respond(text('ok'));
    }

    if (!$modern) {
        ask_on_stream($session);
    }

    $answer = $params['inputResponses']['name'] ?? null;

    respond($answer ? text("Hello, {$answer['content']['name']}!")
        : ['resultType' => 'input_required', 'inputRequests' => [
            'name' => ['method' => 'elicitation/create',
                       'params' => QUESTION]]]);
}

$info = ['name' => 'php-pool', 'version' => '1.0'];
$capabilities = ['tools' => new stdClass];

if ($method === 'server/discover') {
    respond(['supportedVersions' => ['2026-07-28'],
             'capabilities' => $capabilities, 'ttlMs' => 60000,
             'cacheScope' => 'public',
             '_meta' => ['io.modelcontextprotocol/serverInfo' => $info]]);
}

if ($method === 'initialize') {
    $session = bin2hex(random_bytes(16));
    touch("$directory/$session");
    header("Mcp-Session-Id: $session");
    respond(['protocolVersion' => '2025-11-25',
             'capabilities' => $capabilities, 'serverInfo' => $info]);
}

if ($modern) {
    $meta = $params['_meta'] ?? [];

    if (($meta['io.modelcontextprotocol/protocolVersion'] ?? '')
            !== '2026-07-28'
        || ($_SERVER['HTTP_MCP_METHOD'] ?? '') !== $method) {
        fail(400, -32020, 'Headers and body differ');
    }

    $session = null;
} else {
    $session = basename($_SERVER['HTTP_MCP_SESSION_ID'] ?? '');

    if ($session === '' || !file_exists("$directory/$session")) {
        fail(404, -32600, 'A valid session id is REQUIRED');
    }
}

if ($id === null || $method === null) {
    if (isset($message['result']) && !$modern) {
        $file = "$directory/$session." . basename((string) $id);
        file_put_contents("$file.new", json_encode($message['result']));
        rename("$file.new", $file);
    }

    http_response_code(202);
    exit;
}

switch ($method) {
    case 'tools/list':
        $schema = ['type' => 'object'];
        respond(['tools' => [
            ['name' => 'quick', 'inputSchema' => $schema],
            ['name' => 'ask', 'inputSchema' => $schema]]]
            + ($modern ? ['ttlMs' => 60000, 'cacheScope' => 'public'] : []));
    case 'tools/call':
        call($params, $session);
    default:
        fail($modern ? 404 : 200, -32601, 'Method not found');
}
