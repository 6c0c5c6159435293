import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../ports.ts'
import { until } from '../until.ts'
import { goProgram } from './go-program.ts'

/** A real server of S3, which keeps its objects in a directory of the test. */
export interface S3Server {
  readonly port: number
  readonly bucket: string
  dispose(): Promise<void>
}

export const VERSITYGW = goProgram('github.com/versity/versitygw/cmd/versitygw@v1.8.0')
/** Credentials that exist only in the server of a test. */
export const KEYS = { AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'only-for-tests' }
const BUCKET = 'evidence'

/** Starts the server. The variables of this process get its credentials, as an operator's environment has them. */
export async function startS3(program: string): Promise<S3Server> {
  const directory = mkdtempSync(join(tmpdir(), 'countersign-s3-'))
  mkdirSync(join(directory, 'objects', BUCKET), { recursive: true })
  mkdirSync(join(directory, 'facts'))
  const port = await freePort()
  const { AWS_ACCESS_KEY_ID: access, AWS_SECRET_ACCESS_KEY: secret } = Object.assign(process.env, KEYS)
  const place = ['posix', '--sidecar', join(directory, 'facts'), join(directory, 'objects')]
  const args = ['--quiet', '--port', `127.0.0.1:${port}`, '--access', access, '--secret', secret, ...place]
  const child = spawn(program, args, { stdio: 'ignore' })
  const ended = once(child, 'exit')
  await until(() =>
    fetch(`http://127.0.0.1:${port}/`).then(
      () => true,
      () => false,
    ),
  )
  return {
    port,
    bucket: BUCKET,
    dispose: async () => {
      child.kill('SIGKILL')
      await ended
      rmSync(directory, { recursive: true, force: true })
    },
  }
}
