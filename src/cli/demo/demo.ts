import { parseArgs } from 'node:util'
import { runDemo } from './demo-script.ts'
import { demoGateway } from './demo-gateway.ts'

export const DEMO_USAGE = `countersign demo [--auto] [--url URL]

  Runs a demo agent against the gateway of \`countersign dev\` in this folder. Exits 0 only if every step went as the
  contract says.

  --auto   also plays the reviewer, and starts a gateway of its own if none runs`

/** `npm run demo`: a small file-and-ledger world whose agent asks before it acts. */
export async function demo(args: readonly string[]): Promise<void> {
  const options = { auto: { type: 'boolean', default: false }, url: { type: 'string' } } as const
  const { values } = parseArgs({ args: [...args], options })
  const gateway = await demoGateway(values.auto, values.url)
  try {
    process.exitCode = (await runDemo(gateway.credentials, { auto: values.auto })) ? 0 : 1
  } finally {
    await gateway.close()
  }
}
