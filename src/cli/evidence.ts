import { once } from 'node:events'
import { parseArgs } from 'node:util'
import { createApi } from './api.ts'
import { reachAsAdmin } from './credentials.ts'
import { usage } from './failure.ts'

export const EVIDENCE_USAGE = `countersign evidence export --tenant TENANT [--after NUMBER]

  Prints every evidence record of a tenant as NDJSON, in order. Tenant _system holds policy loads and reads of evidence.

  --url URL   the gateway (COUNTERSIGN_URL)

Needs COUNTERSIGN_ADMIN_KEY.`

const OPTIONS = {
  tenant: { type: 'string' },
  after: { type: 'string', default: '0' },
  url: { type: 'string' },
} as const

const PAGE = 10_000

export async function evidence(args: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true })
  if (positionals[0] !== 'export' || values.tenant === undefined) throw usage('name a tenant', EVIDENCE_USAGE)
  const reach = reachAsAdmin(values.url)
  const api = createApi(reach.url, reach.key)
  for (let after = Number(values.after); ;) {
    const query = new URLSearchParams({ tenant: values.tenant, after: String(after), limit: String(PAGE) })
    const lines = await copyOut(await api.stream(`/api/admin/evidence?${query.toString()}`))
    if (lines < PAGE) return
    after += lines
  }
}

const LINE_END = 0x0a

/** Writes what comes, as it comes, and counts the lines. */
async function copyOut(stream: AsyncIterable<Uint8Array>): Promise<number> {
  let lines = 0
  for await (const chunk of stream) {
    for (const byte of chunk) if (byte === LINE_END) lines++
    if (!process.stdout.write(chunk)) await once(process.stdout, 'drain')
  }
  return lines
}
