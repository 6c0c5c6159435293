import { setInterval } from 'node:timers'

/*
 * The time of an action without pauses of this process, as when the machine pauses or does other work. It counts the
 * time in which our own code blocks the event loop.
 */
const LOOK_MS = 20
/** Less than that is a busy machine's usual delay. */
const PAUSE_MS = 100

// tests may play the clocks of this process
const clock = process.hrtime.bigint.bind(process.hrtime)
const nowMs = (): number => Number(clock()) / 1e6
const cpuMs = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

let stood = 0
let looked = { at: nowMs(), cpu: cpuMs() }

function look(): void {
  const now = { at: nowMs(), cpu: cpuMs() }
  const pause = now.at - looked.at - Math.max(LOOK_MS, now.cpu - looked.cpu)
  if (pause > PAUSE_MS) stood += pause
  looked = now
}
setInterval(look, LOOK_MS).unref()

/** Starts now; each call says how many ms this process has run since. */
export function stopwatch(): () => number {
  look()
  const start = nowMs() - stood
  return () => {
    look()
    return nowMs() - stood - start
  }
}
