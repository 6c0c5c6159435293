/**
 * Runs vitest with the arguments given. A test file that fails runs once more, alone. When it passes then, the run is
 * green and the last lines name the file as unsteady. The test of such a file depends on time or on other processes,
 * and needs mending.
 *
 *     node test/suite.mjs --project embedded test/http
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** More failed files than that are a defect, not unsteady tests. */
const MOST_AGAIN = 30

const VITEST = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'countersign-suite-'))

/** Runs vitest once; undefined when it ended without a summary, such as for a file that hangs. */
function vitest(args) {
  const summary = join(folder, 'summary.json')
  rmSync(summary, { force: true })
  const env = { ...process.env, SUITE_SUMMARY: summary }
  const { status } = spawnSync(process.execPath, [VITEST, 'run', ...args], { stdio: 'inherit', env })
  try {
    return { ...JSON.parse(readFileSync(summary, 'utf8')), status }
  } catch {
    return undefined
  }
}

function suite(args) {
  const first = vitest(args)
  if (first === undefined) return 1
  const again = first.files.length <= MOST_AGAIN ? first.files : []
  const unsteady = again.filter(({ project, file }) => vitest(['--project', project, file])?.status === 0)
  const recovered = unsteady.reduce((sum, { failed }) => sum + failed, 0)
  for (const { project, file } of unsteady)
    console.log(`unsteady: ${file} (${project}) failed, and passed when it ran alone`)
  console.log(
    `${first.passed + recovered} passed, ${first.failed - recovered} failed, ${first.skipped} skipped`,
  )
  const isGreen =
    first.status === 0 || (first.isWhole && again.length > 0 && unsteady.length === first.files.length)
  return isGreen ? 0 : 1
}

try {
  process.exitCode = suite(process.argv.slice(2))
} finally {
  rmSync(folder, { recursive: true, force: true })
}
