import { execFileSync } from '../sync-child.ts'
import { mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { sha256 } from '../../src/domain/digest.ts'
import { shellWords } from '../../src/domain/shell-words.ts'
import { changedFile, filesOf } from '../../src/hook/files.ts'

let folder: string
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'countersign-files-')))
  writeFileSync(join(folder, 'deploy.sh'), 'echo 1\n')
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const of = (command: string, withinMs = 60_000) => filesOf(command, folder, withinMs)
const names = async (command: string) => (await of(command)).map(({ path }) => path)

describe('the words of a command', () => {
  it.each([
    ['sh deploy.sh', ['sh', 'deploy.sh']],
    ['FOO=1 make', ['FOO=1', 'make']],
    ['a;b&&c|d>e', ['a', 'b', 'c', 'd', 'e']],
    [`'a b' "c\\"d" e\\ f`, ['a b', 'c"d', 'e f', 'e', 'f', 'a', 'b']],
    [`bash -lc 'sh "my file"'`, ['bash', '-lc', 'sh "my file"', 'sh', 'my file', 'my', 'file']],
    [`sh 'half`, ['sh', 'half']],
    ['', []],
  ])('%s', (line, wanted) => {
    expect(shellWords(line, 100)).toEqual(wanted)
  })

  it('are bounded', () => {
    expect(shellWords('a b c d', 3)).toEqual(['a', 'b', 'c'])
  })
})

describe('the files of a command', () => {
  it('have path, real path, digest and size', async () => {
    symlinkSync('deploy.sh', join(folder, 'link'))
    const file = { real: join(folder, 'deploy.sh'), sha256: sha256('echo 1\n'), size: 7 }
    expect(await of('sh ./deploy.sh && sh link')).toEqual([
      { path: './deploy.sh', ...file },
      { path: 'link', ...file },
    ])
  })

  it.each([
    'sh -c "sh deploy.sh"',
    'x --file=deploy.sh',
    'x -fdeploy.sh',
    'curl -d @deploy.sh',
    'A=1 sh<deploy.sh',
  ])('are found in %s', async (command) => expect(await names(command)).toEqual(['deploy.sh']))

  it('are regular: no folder, device, pipe, loop or missing file', async () => {
    mkdirSync(join(folder, 'sub'))
    symlinkSync('loop', join(folder, 'loop'))
    symlinkSync('/dev/zero', join(folder, 'zero'))
    execFileSync('mkfifo', [join(folder, 'pipe')])
    expect(await names('x sub . loop zero pipe /dev/null /dev/zero none')).toEqual([])
  })

  it('are named with line ends', async () => {
    writeFileSync(join(folder, 'a\nb'), '')
    expect(await names(`sh 'a\nb'`)).toEqual(['a\nb'])
  })

  it('are not read beyond 16 MiB, 20 files or the time', async () => {
    writeFileSync(join(folder, 'big'), '')
    truncateSync(join(folder, 'big'), 2 ** 30)
    const all = Array.from({ length: 25 }, (_, at) => `f${at}`)
    for (const name of all) writeFileSync(join(folder, name), name)
    expect(await of('sh big deploy.sh')).toMatchObject([
      { path: 'big', sha256: 'not read', size: 2 ** 30 },
      { path: 'deploy.sh', sha256: sha256('echo 1\n') },
    ])
    const digests = (await of(`cat ${all.join(' ')}`)).map((file) => file.sha256 !== 'not read')
    expect(digests).toEqual([...Array<boolean>(20).fill(true), ...Array<boolean>(5).fill(false)])
    expect(await of('sh deploy.sh', 0)).toMatchObject([{ path: 'deploy.sh', sha256: 'not read' }])
  })

  it('are found among 200 words, and a command with too many words is refused', async () => {
    expect(
      await names(
        `${'w '.repeat(200)}${Array.from({ length: 200 }, (_, at) => `w${at}`).join(' ')} deploy.sh`,
      ),
    ).toEqual(['deploy.sh'])
    await expect(of(Array.from({ length: 2_000 }, (_, at) => `w${at}`).join(' '))).rejects.toThrow('words')
  })
})

describe('a changed file', () => {
  const difference = async (change: () => void, command = 'sh deploy.sh') => {
    const before = await of(command)
    change()
    return changedFile(before, await of(command))
  }
  const write = (name: string, text: string) => (): void => writeFileSync(join(folder, name), text)

  it('is found by its bytes, its place, its absence, or because it is new', async () => {
    expect(await difference(write('deploy.sh', 'echo 2\n'))).toBe('deploy.sh')
    expect(await difference(write('new.sh', ''), 'sh new.sh')).toBe('new.sh')
    expect(await difference(() => rmSync(join(folder, 'deploy.sh')))).toBe('deploy.sh')
    write('deploy.sh', 'echo 1\n')()
    const replace = (): void => {
      write('other.sh', 'echo 1\n')()
      rmSync(join(folder, 'deploy.sh'))
      symlinkSync('other.sh', join(folder, 'deploy.sh'))
    }
    expect(await difference(replace)).toBe('deploy.sh')
  })

  it('is no change when it has its bytes again', async () => {
    const back = (): void => {
      write('deploy.sh', 'echo 2\n')()
      write('deploy.sh', 'echo 1\n')()
    }
    expect(await difference(back)).toBeUndefined()
  })
})
