/*
 * The three programs: how each starts without people, which files hold its settings, and how a call of its shell looks.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const json = (value) => JSON.stringify(value, null, 2)

function put(home, name, text) {
  const file = join(home, name)
  mkdirSync(join(file, '..'), { recursive: true })
  writeFileSync(file, text)
}

const CLAUDE_CODE = {
  name: 'claude-code',
  bin: 'claude',
  shell: (command) => ({ tool: 'Bash', input: { command } }),
  write: (file) => ({ tool: 'Write', input: { file_path: file, content: 'x' } }),
  server: (tool, input) => ({ tool: `mcp__ledger__${tool}`, input }),
  prepare: ({ home, hooks, mcp, url, asks = false }) => {
    const permissions = asks ? {} : { allow: ['Bash', 'Write', 'mcp__ledger'] }
    put(home, '.claude/settings.json', json({ ...hooks, permissions }))
    if (mcp !== undefined) put(home, 'mcp.json', json({ mcpServers: { ledger: mcp } }))
    return {
      args: ['-p', 'go', ...(mcp === undefined ? [] : ['--mcp-config', join(home, 'mcp.json')])],
      env: {
        ANTHROPIC_BASE_URL: url,
        ANTHROPIC_API_KEY: 'none',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        DISABLE_AUTOUPDATER: '1',
        ENABLE_TOOL_SEARCH: 'false',
      },
    }
  },
  /** Faults after which the program runs the tool although nothing allowed it. */
  open: [],
  grants: true,
}

const GEMINI = {
  name: 'gemini',
  bin: 'gemini',
  shell: (command) => ({ tool: 'run_shell_command', input: { command } }),
  write: (file) => ({ tool: 'write_file', input: { file_path: file, content: 'x' } }),
  server: (tool, input) => ({ tool: `mcp_ledger_${tool}`, input }),
  prepare: ({ home, hooks, mcp, url }) => {
    const settings = {
      ...hooks,
      security: { auth: { selectedType: 'gemini-api-key' } },
      privacy: { usageStatisticsEnabled: false },
      telemetry: { enabled: false },
      general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
      ...(mcp === undefined ? {} : { mcpServers: { ledger: mcp } }),
    }
    put(home, '.gemini/settings.json', json(settings))
    return {
      args: ['-p', 'go', '--approval-mode', 'yolo', '--skip-trust', '-m', 'gemini-2.5-flash'],
      env: { GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: 'none' },
    }
  },
  open: ['too slow', 'the shell killed'],
}

const EXEC = ['exec', 'go', '--skip-git-repo-check', '--sandbox', 'danger-full-access']
const codex = (model) => ({
  name: 'codex',
  bin: 'codex',
  prepare: ({ home, hooks, mcp, url, trusted = true }) => {
    const text = [
      `model = "${model}"`,
      'model_provider = "none"',
      'check_for_update_on_startup = false',
      '[model_providers.none]',
      'name = "none"',
      `base_url = "${url}/v1"`,
      'env_key = "NO_KEY"',
      '[analytics]',
      'enabled = false',
      ...(mcp === undefined
        ? []
        : [
            '[mcp_servers.ledger]',
            `command = ${JSON.stringify(mcp.command)}`,
            `args = ${JSON.stringify(mcp.args)}`,
            'default_tools_approval_mode = "approve"',
            '[mcp_servers.ledger.env]',
            ...Object.entries(mcp.env).map(([name, value]) => `${name} = ${JSON.stringify(value)}`),
          ]),
    ]
    put(home, '.codex/config.toml', `${text.join('\n')}\n`)
    if (hooks !== undefined) put(home, '.codex/hooks.json', json(hooks))
    return {
      args: [...EXEC, ...(trusted ? ['--dangerously-bypass-hook-trust'] : [])],
      env: { NO_KEY: 'none' },
    }
  },
  open: ['too slow', 'the shell killed', 'a hook that nobody trusted'],
  trust: true,
})

const patch = (file) => `*** Begin Patch\n*** Add File: ${file}\n+x\n*** End Patch\n`

/** A model that it does not know gets its tools one by one. */
const CODEX = {
  ...codex('a-model'),
  shell: (cmd) => ({ tool: 'exec_command', input: { cmd } }),
  server: (tool, input) => ({ tool, namespace: 'mcp__ledger', input }),
}

/** A model that it knows writes a script that calls them. */
const CODEX_SCRIPTS = {
  ...codex('gpt-6.1-sol'),
  label: 'codex, scripts',
  shell: (cmd) => ({ tool: 'exec', input: `text(await tools.exec_command(${JSON.stringify({ cmd })}))` }),
  write: (file) => ({ tool: 'exec', input: `text(await tools.apply_patch(${JSON.stringify(patch(file))}))` }),
  /** A script that takes long continues by itself, and the model looks at it again. */
  wait: ({ input }) => ({
    tool: 'wait',
    input: { cell_id: /cell ID (\w+)/.exec(JSON.stringify(input.at(-1)))?.[1], yield_time_ms: 60_000 },
  }),
  server: (tool, input) => ({
    tool: 'exec',
    input: `text(await tools.mcp__ledger__${tool}(${JSON.stringify(input)}))`,
  }),
}

export const PROGRAMS = [CLAUDE_CODE, GEMINI, CODEX, CODEX_SCRIPTS].map((program) => ({
  label: program.name,
  ...program,
}))
