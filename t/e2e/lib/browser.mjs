// SPDX-License-Identifier: Apache-2.0

// Debian's Chromium without a window, controlled through the Chrome DevTools
// Protocol.

import { spawn } from 'node:child_process';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after } from 'node:test';
import { createInterface } from 'node:readline';

const OPTIONS = ['--headless=new', '--no-sandbox', '--disable-gpu',
    '--disable-dev-shm-usage', '--disable-background-networking',
    '--no-first-run', '--remote-debugging-port=0'];


export class Browser {
    // options: further ones of Chromium

    static async use(options = []) {
        const browser = new Browser();

        browser.profile = await fs.mkdtemp(path.join(os.tmpdir(), 'mcp-web-'));
        browser.process = spawn('chromium',
            [...OPTIONS, ...options,
             `--user-data-dir=${browser.profile}`, 'about:blank'],
            { stdio: ['ignore', 'ignore', 'pipe'] });
        browser.exited = new Promise((resolve) => {
            browser.process.on('exit', resolve);
            browser.process.on('error', resolve);
        });

        after(() => browser.stop());

        const url = await new Promise((resolve, reject) => {
            createInterface(browser.process.stderr).on('line', (line) => {
                const found = /^DevTools listening on (ws:\S+)/.exec(line);

                if (found) {
                    resolve(found[1]);
                }
            });
            browser.exited.then(() => reject(new Error(
                'chromium did not start: scripts/deps test')));
        });

        browser.targets = `http://${new URL(url).host}/json/list`;

        return browser;
    }

    async stop() {
        this.socket?.close();
        this.process.kill('SIGTERM');
        await this.exited;
        await fs.rm(this.profile, { recursive: true, force: true,
                                    maxRetries: 5 });
    }

    // Opens a URL in the only page.

    async open(url) {
        await this.begin();
        await this.send('Page.navigate', { url });
    }

    async begin() {
        if (!this.socket) {
            const [page] = (await (await fetch(this.targets)).json())
                .filter(({ type }) => type === 'page');

            await this.connect(page.webSocketDebuggerUrl);
        }
    }

    // Collects the page's console errors and violations in `complaints` and the
    // URLs that the page requests in `requested`.

    async watch() {
        this.complaints = [];
        this.requested = [];
        await this.begin();

        this.handlers = {
            'Log.entryAdded': ({ entry }) => entry.level !== 'verbose'
                && this.complaints.push(`${entry.text} ${entry.url ?? ''}`),
            'Runtime.exceptionThrown': ({ exceptionDetails: details }) =>
                this.complaints.push(details.exception?.description
                                     ?? details.text),
            'Runtime.consoleAPICalled': ({ args }) =>
                this.complaints.push(JSON.stringify(args)),
            'Network.requestWillBeSent': ({ request }) =>
                this.requested.push(request.url),
        };

        for (const domain of ['Log', 'Runtime', 'Network']) {
            await this.send(`${domain}.enable`);
        }
    }

    // Returns a screenshot of the page as a PNG.

    async screen() {
        const { data } = await this.send('Page.captureScreenshot');

        return Buffer.from(data, 'base64');
    }

    async connect(url) {
        this.next = 1;
        this.waiting = new Map();
        this.socket = new WebSocket(url);
        this.socket.onmessage = ({ data }) => {
            const { id, result, error, method, params } = JSON.parse(data);

            this.handlers?.[method]?.(params);
            this.waiting.get(id)?.(error ? { error } : result);
            this.waiting.delete(id);
        };

        await new Promise((resolve, reject) => {
            this.socket.onopen = resolve;
            this.socket.onerror = reject;
        });
    }

    send(method, params = {}) {
        const id = this.next++;

        this.socket.send(JSON.stringify({ id, method, params }));

        return new Promise((resolve) => { this.waiting.set(id, resolve); });
    }

    // Returns the value of an expression in the page; undefined while the page
    // navigates.

    async value(expression) {
        const { result } = await this.send('Runtime.evaluate',
            { expression, returnByValue: true, awaitPromise: true });

        return result?.value;
    }

    // Waits until an expression is true and returns its value.

    async until(expression, ms = 20000) {
        const end = Date.now() + ms;

        for (;;) {
            const value = await this.value(expression);

            if (value) {
                return value;
            }

            if (Date.now() > end) {
                throw new Error(`${expression} is not true of ${
                    await this.value('location.href + "\\n" + '
                                     + 'document.documentElement.outerHTML')}`);
            }

            await new Promise((resolve) => { setTimeout(resolve, 50); });
        }
    }
}
