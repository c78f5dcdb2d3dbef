<?php
// SPDX-License-Identifier: Apache-2.0
// Tools of an MCP backend, for PHP 8.1 or later with PHP-FPM; see tools.php.
//
// tool(NAME, ENTRY, FUNCTION) declares a tool.  ENTRY is its entry in the
// catalog, without the name.  The function gets the arguments, which the web
// server has not checked, and this object.  It returns a string (text), a list
// (content blocks), structured() or another array (the result as it is).
// The model reads the message of a ToolError.  Other exceptions are only logged.

class ToolError extends Exception {}

/** Ends a call that has asked its user.  "catch (Exception)" does not catch it. */
final class McpQuestion extends Error {}

final class Mcp
{
    private array $tools = [];
    private array $params = [];
    private array $answers = [];
    private bool $done = false;

    public function tool(string $name, array $entry, callable $run): void
    {
        $this->tools[$name] = [['name' => $name] + $entry, $run];
    }

    public static function text(string $text): array
    {
        return ['type' => 'text', 'text' => $text];
    }

    public static function image(string $bytes, string $mimeType): array
    {
        return ['type' => 'image', 'data' => base64_encode($bytes), 'mimeType' => $mimeType];
    }

    public static function structured(array $data, ?string $text = null): array
    {
        return ['content' => [self::text($text ?? self::json((object) $data))],
                'structuredContent' => (object) $data];
    }

    public function progress(float $done, ?float $total = null, ?string $message = null): void
    {
        $token = $this->params['_meta']['progressToken'] ?? null;

        if ($token !== null) {
            $this->send(['jsonrpc' => '2.0', 'method' => 'notifications/progress',
                'params' => array_filter(['progressToken' => $token, 'progress' => $done,
                    'total' => $total, 'message' => $message], fn ($v) => $v !== null)]);
        }
    }

    /** Returns whether the client shows forms to its user. */
    public function canAsk(): bool
    {
        $able = json_decode($_SERVER['MCP_CLIENT_CAPABILITIES'] ?? '', true);
        $modes = $able['elicitation'] ?? null;

        return $modes === [] || isset($modes['form']);
    }

    /**
     * Returns the fields of the user's answer, or null if the user declined.
     * Once the user has answered, the tool runs again from its beginning: let
     * it change nothing before its last question.
     */
    public function ask(string $key, string $message, array $schema): ?array
    {
        $answer = $this->answers[$key] ?? null;

        if (is_array($answer)) {
            return ($answer['action'] ?? '') === 'accept' ? $answer['content'] ?? [] : null;
        }

        $this->send(['resultType' => 'input_required',
            'inputRequests' => [$key => ['method' => 'elicitation/create',
                'params' => ['message' => $message, 'requestedSchema' => $schema]]],
            'requestState' => self::json((object) $this->answers)], true);

        throw new McpQuestion();
    }

    public function run(): void
    {
        if (PHP_SAPI === 'cli' && ($_SERVER['argv'][1] ?? '') === '--catalog') {
            echo self::json(['tools' => array_column($this->tools, 0)], JSON_PRETTY_PRINT), "\n";
            return;
        }

        ini_set('display_errors', '0');
        ini_set('log_errors', '1');
        header('Content-Type: application/x-ndjson');
        register_shutdown_function(fn () => $this->done || $this->failed('no result'));
        $body = file_get_contents(PHP_SAPI === 'cli' ? 'php://stdin' : 'php://input');
        $request = json_decode($body, true, 2048, JSON_THROW_ON_ERROR);
        $this->params = $request['params'] ?? [];
        $this->answers = json_decode($this->params['requestState'] ?? '{}', true)
            + ($this->params['inputResponses'] ?? []);
        $name = $this->params['name'] ?? '';
        [, $run] = $this->tools[$name] ?? [null, null];

        if (!$run) {
            $this->send(['jsonrpc' => '2.0', 'id' => $request['id'],
                'error' => ['code' => -32602, 'message' => "Unknown tool: $name"]], true);
            return;
        }

        try {
            $result = $run($this->params['arguments'] ?? [], $this) ?? [];
            $this->send(match (true) {
                is_string($result) => ['content' => [self::text($result)]],
                array_is_list($result) => ['content' => $result],
                default => $result }, true);
        } catch (McpQuestion) {
        } catch (Throwable $error) {
            $this->failed($error);
        }
    }

    private function failed(Throwable|string $reason): void
    {
        $known = $reason instanceof ToolError;
        $known || error_log("MCP tool: $reason");
        $this->send(['content' => [self::text($known ? $reason->getMessage()
            : 'The tool has failed.')], 'isError' => true], true);
    }

    private function send(array $message, bool $last = false): void
    {
        if ($this->done) {
            return;
        }

        echo self::json($message), "\n";
        $this->done = $last;

        while (ob_get_level()) {
            ob_end_flush();
        }

        flush();
    }

    private static function json(mixed $value, int $flags = 0): string
    {
        return json_encode($value, $flags | JSON_THROW_ON_ERROR | JSON_INVALID_UTF8_SUBSTITUTE);
    }
}
