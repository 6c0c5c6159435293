import { createInterface } from 'node:readline/promises'

/** Asks on the terminal whether to do an act. Without a terminal, the answer is no. */
export async function isConfirmed(act: string): Promise<boolean> {
  if (!process.stdin.isTTY) {
    console.error(`to ${act} without a terminal, add --yes`)
    return false
  }
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const question = `${act.charAt(0).toUpperCase()}${act.slice(1)}? [y/N] `
    return /^y(es)?$/i.test((await lines.question(question)).trim())
  } finally {
    lines.close()
  }
}
