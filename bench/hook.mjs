/*
 * The cost of `files` in `countersign hook`: the time to read three files of 4 kB that a command names, beside a
 * command that names none. Wall times of alternate runs.
 *
 * npm run build && node bench/hook.mjs [rounds]
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { filesOf, READING_MS } from '../dist/hook/files.js'

const rounds = Number(process.argv[2] ?? 200)
const directory = mkdtempSync(join(tmpdir(), 'countersign-bench-hook-'))
const names = ['deploy.sh', 'values.yaml', 'notes.txt']
for (const name of names) writeFileSync(join(directory, name), name.repeat(4096 / name.length))

async function timeOf(command) {
  const start = performance.now()
  const { length } = await filesOf(command, directory, READING_MS)
  return { ms: performance.now() - start, length }
}

const [with3, without] = [[], []]
try {
  // the first call of a process is the one that a harness waits for
  const first = await timeOf(`sh ${names.join(' ')}`)
  if (first.length !== names.length) throw new Error(`${first.length} files were read`)
  for (let i = 0; i < rounds; i++) {
    with3.push((await timeOf(`sh ${names.join(' ')}`)).ms)
    without.push((await timeOf('ls -la src test')).ms)
  }
  const p50 = (times) => times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)]
  console.log(`three files: ${first.ms.toFixed(2)} ms in the first call of a process`)
  console.log(
    `later, p50: ${p50(with3).toFixed(2)} ms; no file: ${p50(without).toFixed(2)} ms (goal: 5 ms more)`,
  )
} finally {
  rmSync(directory, { recursive: true })
}
