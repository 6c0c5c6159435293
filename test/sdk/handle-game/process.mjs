/*
 * A process of an agent, for killed.test.ts. It proposes held calls, saves the handles, and waits in memory; or it
 * resumes the saved handles, and prints how that ended. A call that runs adds a line to a file.
 */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { createGate } from '@countersign/sdk'

const [url, key, directory, verb, ...names] = process.argv.slice(2)
const gate = createGate({ url, key, taskId: 'killed', onPending: () => undefined })
const resume = (handle, name, options) =>
  gate.resume(
    handle,
    (approved) => appendFileSync(`${directory}/ran`, `${name} ${JSON.stringify(approved)}\n`),
    options,
  )
if (verb === 'propose') {
  const handles = names.map((callId) => gate.propose('hold', { cents: 1200 }, { taskId: 'killed', callId }))
  for (const [at, name] of names.entries())
    writeFileSync(`${directory}/${name}`, JSON.stringify(await handles[at]))
  console.log('held')
  await Promise.all(names.map(async (name, at) => resume(await handles[at], name)))
} else {
  for (const name of names) {
    const handle = JSON.parse(readFileSync(`${directory}/${name}`, 'utf8'))
    const told = resume(handle, name, { maxWaitMs: 0 }).then(
      () => 'ran',
      ({ code }) => code,
    )
    console.log(name, await told)
  }
  await gate.settled()
}
