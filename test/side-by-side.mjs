/**
 * Runs npm scripts side by side, and prints what each said when it has ended. Exits with 1 when one failed.
 *
 *     node test/side-by-side.mjs types lint prose format:check
 */
import { spawn } from 'node:child_process'

function script(name) {
  const child = spawn('npm', ['run', '--silent', name], { stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      said += text
    })
  return new Promise((resolve) => {
    child.on('error', (error) => resolve({ name, said: `${error.message}\n`, isGood: false }))
    child.on('close', (code) => resolve({ name, said, isGood: code === 0 }))
  })
}

const ended = await Promise.all(
  process.argv.slice(2).map(async (name) => {
    const { said, isGood } = await script(name)
    process.stdout.write(`${isGood ? 'ok    ' : 'failed'} ${name}\n${isGood ? '' : said}`)
    return isGood
  }),
)
process.exitCode = ended.every(Boolean) ? 0 : 1
