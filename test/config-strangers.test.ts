import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { SETTING_ROWS } from '../src/settings/settings.ts'
import { unknownVariables } from '../src/settings/unknown-variables.ts'
import { startGateway } from './fault/gateway.ts'

const directory = mkdtempSync(join(tmpdir(), 'cs-strangers-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const meantBy = (variable: string): (string | undefined)[] =>
  unknownVariables({ [variable]: 'x' }).map(({ meant }) => meant)

const namesIn = (env: Record<string, string>): string[] =>
  unknownVariables(env).map(({ variable }) => variable)

describe('a variable that begins with COUNTERSIGN_ and is no setting', () => {
  it.each([
    ['COUNTERSIGN_STOER', 'COUNTERSIGN_STORE'],
    ['COUNTERSIGN_PORTS', 'COUNTERSIGN_PORT'],
    ['COUNTERSIGN_OIDC_GROUP_CLAIM', 'COUNTERSIGN_OIDC_GROUPS_CLAIM'],
    ['COUNTERSIGN_SESION_IDLE', 'COUNTERSIGN_SESSION_IDLE'],
    ['COUNTERSIGN_SIGNING_KEY_FIEL', 'COUNTERSIGN_SIGNING_KEY_FILE'],
    ['COUNTERSIGN_CONFG', 'COUNTERSIGN_CONFIG'],
  ])('is named with the setting that was meant: %s', (written, meant) => {
    expect(meantBy(written)).toEqual([meant])
  })

  it('is named when it is a file for what is no secret', () => {
    for (const { variable, secret } of SETTING_ROWS) {
      expect(meantBy(variable)).toEqual([])
      expect(meantBy(`${variable}_FILE`)).toEqual(secret === true ? [] : [variable])
    }
  })

  it('is named when it is far from all of them: it may be of somebody else, or of a later version', () => {
    const env = { COUNTERSIGN_VERSION: '1', COUNTERSIGN_IMAGE: 'x', PATH: 'x', OTHER_STOER: 'x' }
    expect(namesIn(env)).toEqual(['COUNTERSIGN_IMAGE', 'COUNTERSIGN_VERSION'])
  })

  it('is nobody when it is empty, is read by commands and clients, or comes from a service of that name', () => {
    const env = {
      COUNTERSIGN_STOER: '',
      COUNTERSIGN_URL: 'http://127.0.0.1:8787',
      COUNTERSIGN_AGENT_KEY: 'k',
      COUNTERSIGN_REVIEWER_KEY: 'k',
      COUNTERSIGN_CONFIG: 'countersign.yaml',
      COUNTERSIGN_TEST_REDIS: 'valkey-server',
      COUNTERSIGN_SERVICE_HOST: '10.0.0.1',
      COUNTERSIGN_SERVICE_PORT: '8787',
      COUNTERSIGN_SERVICE_PORT_HTTP: '8787',
      COUNTERSIGN_PORT_8787_TCP: 'tcp://10.0.0.1:8787',
      COUNTERSIGN_PORT_8787_TCP_ADDR: '10.0.0.1',
      COUNTERSIGN_REDIS_PORT: 'tcp://10.0.0.2:6379',
    }
    expect(namesIn(env)).toEqual([])
    expect(meantBy('COUNTERSIGN_REDIS_PORT')).toEqual([undefined])
  })

  it('is said in a line of the log of the gateway that starts, with what was meant', async () => {
    const gateway = await startGateway({ directory, through: ['env', 'COUNTERSIGN_STOER=x'] })
    gateway.hangUp()
    const { lines } = await gateway.process.kill('SIGTERM')
    expect(lines.map((line) => JSON.parse(line) as object)).toContainEqual(
      expect.objectContaining({
        level: 'warn',
        variable: 'COUNTERSIGN_STOER',
        msg: 'the variable is no setting and is ignored; did you mean COUNTERSIGN_STORE?',
      }),
    )
  })
})
