/*
 * A bundle for the shells of the three programs and for one MCP server. Calls that are named `allowed` run, calls that
 * are named `held` wait for people, and policy rejects all others.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const LEVELS = ['low', 'medium', 'high', 'critical']
const SHELLS = ['Bash', 'run_shell_command']

export function writePolicies(directory) {
  const files = {
    'routing.yaml': `unmatched: reject\nlevels:\n${LEVELS.map((level) => `  ${level}: { group: desk, approvals: 1, expires: 1h }\n`).join('')}`,
    'directory.yaml': `tenants:
  acme:
    agents:
      bot: { owners: [olga] }
    reviewers:
      olga: { name: Olga Orr, groups: [] }
      ann: { name: Ann Ash, groups: [desk] }
`,
    ...Object.fromEntries(
      SHELLS.flatMap((name) => toolOf(name, 'command', 'string', '^touch allowed', '^touch held')),
    ),
    ...Object.fromEntries(toolOf('ledger.pay', 'amount', 'integer', 1, 2)),
  }
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(directory, name, '..'), { recursive: true })
    writeFileSync(join(directory, name), text)
  }
}

function toolOf(name, field, type, allowed, held) {
  const is = (value) => (type === 'string' ? `{ matches: '${value}' }` : value)
  return [
    [
      `tools/${name}.yaml`,
      `tool: ${name}
description: What the agent does.
risk: low
input_schema:
  type: object
  required: [${field}]
  properties:
    ${field}: { type: ${type} }
`,
    ],
    [
      `rules/${name}.yaml`,
      `tool: ${name}
rules:
  - id: ${name.toLowerCase().replaceAll(/[^a-z]/g, '-')}-allowed
    allow: Harmless.
    when:
      payload.${field}: ${is(allowed)}
  - id: ${name.toLowerCase().replaceAll(/[^a-z]/g, '-')}-held
    review: Somebody looks at it.
    when:
      payload.${field}: ${is(held)}
`,
    ],
  ]
}
