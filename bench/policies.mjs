/*
 * Writes policy bundles of any size. Each tool has the same six fields and `perTool` rules, of which a fifth reject and
 * two fifths review.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const VERDICTS = ['reject', 'review', 'review', 'allow', 'allow']
const FIELDS = `    amount:  { type: integer, minimum: 0 }
    to:      { type: string, maxLength: 100 }
    country: { enum: [de, fr, us, jp] }
    channel: { type: string, maxLength: 20 }
    urgent:  { type: boolean }
    items:   { type: integer, minimum: 0 }`

function rule(tool, i) {
  return `  - id: t${tool}-r${i}
    ${VERDICTS[i % 5]}: Rule ${i} of tool ${tool}.
    when:
      payload.amount: { over: ${i * 97}, at_most: ${i * 97 + 500} }
      payload.country: [${i % 2 === 0 ? 'de, fr' : 'us, jp'}]
      payload.channel: c${i % 7}
`
}

const ROUTING = `unmatched: review
allow_up_to: high
timezone: UTC
levels:
  low:      { group: everyone, approvals: 1, expires: 1h }
  medium:   { group: everyone, approvals: 1, expires: 1h }
  high:     { group: everyone, approvals: 1, expires: 1h }
  critical: { group: everyone, approvals: 1, expires: 1h }
`
const DIRECTORY = `tenants:
  acme:
    agents:
      demo-agent: { owners: [dana], tools: ['*'], rate: 9999999/s }
    reviewers:
      alice: { name: Alice, email: alice@acme.example, groups: [everyone] }
      dana:  { name: Dana, email: dana@acme.example, groups: [everyone], roles: [admin] }
`

export function writeBundle(directory, { tools, perTool }) {
  for (const folder of ['tools', 'rules']) mkdirSync(join(directory, folder), { recursive: true })
  writeFileSync(join(directory, 'routing.yaml'), ROUTING)
  writeFileSync(join(directory, 'directory.yaml'), DIRECTORY)
  for (let tool = 0; tool < tools; tool++) {
    const name = `bench.t${tool}`
    const contract = `tool: ${name}\ndescription: A tool for measuring.\nrisk: low\ninput_schema:\n  type: object\n  additionalProperties: false\n  properties:\n${FIELDS}\n`
    writeFileSync(join(directory, 'tools', `${name}.yaml`), contract)
    const rules = Array.from({ length: perTool }, (_, i) => rule(tool, i)).join('')
    writeFileSync(join(directory, 'rules', `${name}.yaml`), `tool: ${name}\nowner: bench\n\nrules:\n${rules}`)
  }
  return directory
}
