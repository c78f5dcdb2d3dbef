<?php
// SPDX-License-Identifier: Apache-2.0
// A tool in PHP, for php-fpm, that answers later without a queue, though it
// occupies its worker.  The endpoint needs mcp_publish_url (MCPPublishURL).

http_response_code(202);
fastcgi_finish_request();

$report = make_the_report();               // takes minutes

$context = stream_context_create([
    'http' => ['method' => 'POST',
               'header' => 'Content-Type: application/json',
               'content' => json_encode(['content' => [
                   ['type' => 'text', 'text' => $report]]]),
               'ignore_errors' => true]]);

for ($try = 1; $try <= 5; $try++) {
    $http_response_header = [];
    file_get_contents($_SERVER['MCP_PUBLISH_URL'], false, $context);

    if (!str_contains($http_response_header[0] ?? '', ' 503 ')) {
        break;
    }

    sleep(1);                              // no room, or too early
}
