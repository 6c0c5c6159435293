import { URL_FLAG } from '../client/credentials.ts'
import { command } from '../terminal/command.ts'
import { parse } from '../terminal/parse.ts'
import { runDemo } from './demo-script.ts'
import { demoGateway } from './demo-gateway.ts'

export const DEMO = command({
  name: 'demo',
  says: `Runs a demo agent against the gateway of \`countersign dev\` in this folder. Exits 0 only if every step went as
    the contract says.`,
  flags: {
    auto: { says: 'also plays the reviewer, and starts a gateway of its own if none runs' },
    url: URL_FLAG,
  },
})

/** `npm run demo`: a small file-and-ledger world whose agent asks before it acts. */
export async function demo(args: readonly string[]): Promise<void> {
  const { values } = parse(DEMO, args)
  const gateway = await demoGateway(values.auto, values.url)
  try {
    process.exitCode = (await runDemo(gateway.credentials, { auto: values.auto })) ? 0 : 1
  } finally {
    await gateway.close()
  }
}
