import { connect } from 'node:net'

export interface Reply {
  readonly status: number
  readonly text: string
  /** How many answers came back on the connection. */
  readonly answers: number
  readonly closed: boolean
}

/** Sends the pieces one after another and reads until the server ends the connection or has said all it will say. */
export function exchange(url: string, pieces: readonly (string | Buffer)[], quietMs = 40): Promise<Reply> {
  const { port } = new URL(url)
  return new Promise((resolve) => {
    const socket = connect(Number(port), '127.0.0.1')
    const chunks: Buffer[] = []
    let quiet: NodeJS.Timeout | undefined
    const end = (closed: boolean): void => {
      clearTimeout(quiet)
      socket.destroy()
      const text = Buffer.concat(chunks).toString('latin1')
      const heads = [...text.matchAll(/HTTP\/1\.1 (\d\d\d)/g)].map((match) => Number(match[1]))
      const final = heads.filter((status) => status >= 200)
      resolve({ status: final[0] ?? 0, text, answers: final.length, closed })
    }
    socket.on('data', (chunk) => {
      chunks.push(chunk)
      clearTimeout(quiet)
      quiet = setTimeout(() => end(false), quietMs)
    })
    socket.on('end', () => end(true))
    socket.on('error', () => end(true))
    socket.on('close', () => end(true))
    for (const piece of pieces) socket.write(typeof piece === 'string' ? Buffer.from(piece, 'latin1') : piece)
  })
}
