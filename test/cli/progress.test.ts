import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { MAIN } from '../crash.ts'
import { counted, withProgress } from '../../src/cli/terminal/progress.ts'

/** A terminal of 40 columns that keeps the text written to it, and a clock that the test moves. */
function terminal(isTTY: boolean) {
  const written: string[] = []
  let time = 0
  return {
    written,
    lines: () => written.map((text) => text.replace('\r\x1b[2K', '')),
    pass: (ms: number) => (time += ms),
    options: { out: { isTTY, columns: 40, write: (text: string) => written.push(text) }, now: () => time },
  }
}

describe('withProgress', () => {
  it('writes nothing to a standard error that is redirected', async () => {
    const { written, options } = terminal(false)
    const answer = await withProgress('Verifying', (tell) => (tell('3 records'), 7), options)
    expect([answer, written]).toEqual([7, []])
  })

  it('shows at once what is running, and clears the line at the end', async () => {
    const { written, options } = terminal(true)
    await withProgress('Verifying the export', () => undefined, options)
    expect(written).toEqual(['\r\x1b[2KVerifying the export ...', '\r\x1b[2K'])
  })

  it('shows the latest detail of a loop that never awaits, ten times a second', async () => {
    const { lines, pass, options } = terminal(true)
    await withProgress(
      'Replaying',
      (tell) => {
        for (let i = 1; i <= 30; i++) {
          pass(50)
          tell(`${i} of 30`)
        }
      },
      options,
    )
    const drawn = lines()
    expect(drawn).toHaveLength(17)
    expect(drawn.slice(0, 3)).toEqual(['Replaying ...', 'Replaying ... 2 of 30', 'Replaying ... 4 of 30'])
    expect(drawn.at(-2)).toBe('Replaying ... 30 of 30, 1 s')
  })

  it('never writes more than one line of the terminal', async () => {
    const { lines, pass, options } = terminal(true)
    await withProgress(
      'x'.repeat(30),
      (tell) => {
        pass(200)
        tell('y'.repeat(30))
      },
      options,
    )
    expect(Math.max(...lines().map((line) => line.length))).toBe(39)
  })

  it('clears the line when the work fails, and lets the error through', async () => {
    const { written, options } = terminal(true)
    const failing = withProgress('Verifying', () => Promise.reject(new Error('no')), options)
    await expect(failing).rejects.toThrow('no')
    expect(written.at(-1)).toBe('\r\x1b[2K')
  })
})

it('counts with separators', () => {
  expect(counted(1234567)).toBe('1,234,567')
})

describe.runIf(process.platform === 'linux')('a command that takes some time', () => {
  const starter = fileURLToPath(new URL('../../policies', import.meta.url))
  const command = `'${process.execPath}' '${MAIN}' diff '${starter}' '${starter}'`

  it('shows its progress on a terminal', async () => {
    const { stdout } = await promisify(execFile)('script', ['-qec', command, '/dev/null'])
    expect(stdout).toContain('Comparing the bundles ...')
  })

  it('prints only the result when the output is not a terminal', async () => {
    const { stdout, stderr } = await promisify(execFile)('sh', ['-c', command])
    expect(stdout + stderr).not.toContain('Comparing')
  })
})
