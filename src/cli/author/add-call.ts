import type { JsonObject } from '../../contract/json.ts'
import { createClient } from '@countersign/sdk'
import { isRunning, readDemoCredentials } from '../client/credentials.ts'
import { exampleCalls } from './example-calls.ts'
import { sdkPlaces } from './sdk-places.ts'
import { withProgress } from '../terminal/progress.ts'
import { visible } from '../terminal/visible-text.ts'

/** Time in which a gateway must load the new files and issue a key, ms. */
const PATIENCE_MS = 60_000
const PAUSE_MS = 50

interface FirstCall {
  readonly tenant: string
  readonly agent: string
  readonly tool: string
  readonly payload: JsonObject
}

/** Prints a working call when `countersign dev` runs in this folder; otherwise prints the command to run first. */
export async function printFirstCall({ tenant, agent, tool, payload }: FirstCall): Promise<void> {
  const known = readDemoCredentials()
  const ready =
    known?.tenant === tenant && (await isRunning(known))
      ? await withProgress('Waiting for the gateway to load the new files', () => readyFor(agent, tool))
      : undefined
  if (ready === undefined) {
    console.log('\nnext: `countersign dev` issues the key of the agent and prints a first call')
    return
  }
  console.log(
    `\nA call of ${agent} to ${tool}. Paste one of these into a terminal, and decide in the console:\n`,
  )
  console.log(visible(exampleCalls({ ...ready, tool, payload }, sdkPlaces(process.cwd()))))
}

/** Address and key, once the gateway knows the agent and the tool; undefined when the gateway takes too long. */
async function readyFor(agent: string, tool: string): Promise<{ url: string; key: string } | undefined> {
  for (let waited = 0; waited < PATIENCE_MS; waited += PAUSE_MS) {
    const { url = '', agent_keys = {} } = readDemoCredentials() ?? {}
    const key = agent_keys[agent]
    if (key !== undefined && (await knows({ url, key }, tool))) return { url, key }
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  }
  return undefined
}

async function knows(reach: { readonly url: string; readonly key: string }, tool: string): Promise<boolean> {
  try {
    const { tools } = await createClient(reach).resolve([tool])
    return tools.some(({ name }) => name === tool)
  } catch {
    return false
  }
}
