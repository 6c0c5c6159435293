import { parseArgs } from 'node:util'
import { portableBundle } from '../../policy/evaluate/portable.ts'
import { openBundle } from './bundle.ts'
import { refuseMore, usage } from '../terminal/failure.ts'

export const COMPILE_USAGE = `countersign compile --json [DIR]

  The rules of the bundle as json-rules-engine JSON with full condition trees, for other engines and for auditors.
  docs/portable-rules.md describes the fact and the four operators. Exits 3 when the bundle would not be loaded.`

/** `countersign compile --json [DIR]`: the rules as portable JSON. Exit 3 when the bundle would not be loaded. */
export async function compile(args: readonly string[]): Promise<void> {
  const options = { json: { type: 'boolean', default: false } } as const
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
  refuseMore(positionals, 1, COMPILE_USAGE)
  if (!values.json) throw usage('say --json: there is no other form yet', COMPILE_USAGE)
  const bundle = await openBundle(positionals[0])
  if (bundle) console.log(JSON.stringify(portableBundle(bundle.ir), null, 2))
}
