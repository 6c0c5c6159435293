/*
 * Preloaded into a gateway that tests kill (test/fault/chat.test.ts). After SIGUSR2, the process dies by SIGKILL before
 * its next acknowledgement of an envelope of Slack. The click is committed, and no byte of its answer has left.
 */
import { Socket } from 'node:net'
import { isMainThread } from 'node:worker_threads'

/** The first byte of a frame with text (RFC 6455). A gateway sends Slack only acknowledgements as text. */
const TEXT_FRAME = 0x81

if (isMainThread) {
  let armed = false
  process.on('SIGUSR2', () => {
    armed = true
    console.log('armed')
  })
  // oxlint-disable-next-line typescript/unbound-method -- it is called with its socket
  const { write } = Socket.prototype
  Socket.prototype.write = function (chunk, ...rest) {
    if (armed && chunk[0] === TEXT_FRAME) process.kill(process.pid, 'SIGKILL')
    return write.call(this, chunk, ...rest)
  }
}
