import { connect } from 'node:net'

export interface Reply {
  readonly status: number
  readonly text: string
  /** Number of answers on the connection. */
  readonly answers: number
  /** Whether the server ended the connection by itself. */
  readonly closed: boolean
}

/**
 * The last request on a connection that is still open. Answers keep the order of the requests. So the text before this
 * answer is all that the server says.
 */
const LAST = 'GET /livez HTTP/1.1\r\nHost: last.test\r\nConnection: close\r\n\r\n'
const LAST_ANSWER =
  /HTTP\/1\.1 200 OK\r\n(?:[^\r\n]+\r\n)*connection: close\r\n(?:[^\r\n]+\r\n)*\r\n\{"live":true\}$/i

const finals = (text: string): number[] =>
  Array.from(text.matchAll(/HTTP\/1\.1 (\d\d\d)/g), ([, status]) => Number(status)).filter(
    (status) => status >= 200,
  )

/**
 * Sends the pieces one after another and reads all answers of the server. It needs no clock: the end of the connection
 * is the end of the answer.
 */
export function exchange(url: string, pieces: readonly (string | Buffer)[]): Promise<Reply> {
  const { port } = new URL(url)
  return new Promise((resolve) => {
    const socket = connect(Number(port), '127.0.0.1')
    const chunks: Buffer[] = []
    const read = (): string => Buffer.concat(chunks).toString('latin1')
    let asked = false
    socket.on('data', (chunk) => {
      chunks.push(chunk)
      if (asked || finals(read()).length === 0) return
      asked = true
      socket.write(LAST)
    })
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      const said = read()
      const before = said.replace(LAST_ANSWER, '')
      // Nothing before it: it is the answer to the pieces, which asked for the same.
      const closed = finals(before).length === 0 || before === said
      const text = closed ? said : before
      const statuses = finals(text)
      resolve({ status: statuses[0] ?? 0, text, answers: statuses.length, closed })
    })
    for (const piece of pieces) socket.write(typeof piece === 'string' ? Buffer.from(piece, 'latin1') : piece)
  })
}
