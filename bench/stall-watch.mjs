/* Loaded into the gateway by bench/reload.mjs: on SIGUSR2 writes the longest delay of the event loop since the last time, in ms. */
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
