import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject, JsonValue } from '../../src/contract/json.ts'
import { prepareDirectory } from '../../src/policy/bundle/directory.ts'
import type { CompiledSnapshot } from '../../src/policy/evaluate/compile.ts'
import { NOON } from './support.ts'

/** The attacks of starter-attacks.yaml, each proposed to the starter policies. */

interface Attack {
  readonly tool: string
  readonly each?: string
  readonly with?: JsonObject
  readonly values?: readonly string[]
  readonly lists?: readonly JsonValue[]
  readonly payloads?: readonly JsonObject[]
}
interface Named extends Attack {
  /** Words of the rule file's first lines. */
  readonly says: string
}

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
const { attacks, named } = parse(readFileSync(here('starter-attacks.yaml'), 'utf8')) as {
  readonly attacks: readonly Attack[]
  readonly named: readonly Named[]
}

function payloadsOf({
  each,
  with: rest,
  values = [],
  lists = [],
  payloads = [],
}: Attack): readonly JsonObject[] {
  const words = values.map((value): JsonValue => (each === 'argv' ? value.split(' ') : value))
  const filled = [...words, ...lists].map((value) => ({ ...rest, [each ?? '']: value }))
  return [...filled, ...payloads]
}

/** The first comment of a rule file, in one line. */
function firstLines(tool: string): string {
  const [head = ''] = readFileSync(here(`../../policies/rules/${tool}.yaml`), 'utf8').split('\nrules:')
  return head.replaceAll(/\n# */g, ' ')
}

describe('the starter policies', () => {
  let snapshot: CompiledSnapshot
  beforeAll(async () => {
    const prepared = await prepareDirectory(here('../../policies'), { now: NOON })
    if (!prepared.ok) throw new Error('the starter policies do not load')
    snapshot = prepared.snapshot
  })

  const history = { taskTools: [], taskLabels: [], agentTools: [], agentLabels: [] }
  async function allowed({ tool, ...attack }: Attack): Promise<readonly string[]> {
    const call = { tool, tenant: 'test', agent: 'test', at: NOON, history }
    const verdicts = payloadsOf({ tool, ...attack }).map(async (payload) => {
      if (snapshot.checkPayload(tool, payload).length > 0) return []
      return (await snapshot.judge({ ...call, payload })).verdict === 'allow' ? [JSON.stringify(payload)] : []
    })
    return (await Promise.all(verdicts)).flat()
  }

  it.each(attacks.map((attack) => [`${attack.tool} by ${attack.each ?? 'payloads'}`, attack] as const))(
    'allow no attack on %s',
    async (_, attack) => {
      expect(await allowed(attack)).toEqual([])
    },
  )

  it.each(named)('name what they leave to $tool: $says', async (attack) => {
    expect(await allowed(attack)).toHaveLength(payloadsOf(attack).length)
    expect(firstLines(attack.tool)).toContain(attack.says)
  })

  it('are tried with more than 200 attacks, all different', () => {
    const all = attacks.flatMap((attack) =>
      payloadsOf(attack).map((one) => attack.tool + JSON.stringify(one)),
    )
    expect(all.length).toBeGreaterThan(200)
    expect(new Set(all).size).toBe(all.length)
  })

  it('say in their first lines what the tool itself must do', () => {
    for (const tool of snapshot.tools.keys())
      expect(firstLines(tool), tool).toContain('The tool itself must do the following, because no rule can:')
  })
})
