/*
 * bench/reload.mjs loads this into the gateway. On SIGUSR2 it writes the longest delay of the event loop since the last
 * signal, in ms.
 */
import { writeFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { isMainThread } from 'node:worker_threads'

if (isMainThread) {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  process.on('SIGUSR2', () => {
    writeFileSync(process.env.STALL_REPORT, String(delay.max / 1e6))
    delay.reset()
  })
}
