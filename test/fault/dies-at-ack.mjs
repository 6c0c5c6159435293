/*
 * Preloaded into a gateway that tests kill (test/fault/chat.test.ts). After SIGUSR2, the process dies by SIGKILL when it
 * is about to acknowledge an envelope of Slack: the click is committed, and no byte of the acknowledgement has left.
 */
import { Socket } from 'node:net'
import { isMainThread } from 'node:worker_threads'

/** The first byte of a text frame (RFC 6455). A gateway sends no other text to Slack than acknowledgements. */
const TEXT_FRAME = 0x81

if (isMainThread) {
  let armed = false
  process.on('SIGUSR2', () => {
    armed = true
    console.log('armed')
  })
  const { write } = Socket.prototype
  Socket.prototype.write = function (chunk, ...rest) {
    if (armed && chunk[0] === TEXT_FRAME) process.kill(process.pid, 'SIGKILL')
    return write.call(this, chunk, ...rest)
  }
}
