import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { parseDocument } from 'yaml'
import { WebhookEvent } from '../src/contract/webhook.ts'
import { SETTING_ROWS } from '../src/settings/settings.ts'
import { runCli } from './cli/run.ts'
import { apiPage } from './docs/api-page.ts'
import { cliPage } from './docs/cli-page.ts'
import { withFigures } from './docs/figures.ts'
import { withFrameworksTable } from './docs/frameworks-table.ts'
import { withSettingsTable } from './docs/settings-table.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const documents = [
  ...readdirSync(root).filter((name) => name.endsWith('.md')),
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md') && !name.startsWith('.vitepress'))
    .map((name) => `docs/${name}`),
  'deploy/README.md',
  'bench/README.md',
]

/** The anchors of a page, as GitHub makes them of its headings. */
function anchorsOf(path: string): string[] {
  const headings = read(path)
    .replaceAll(/^```.*?^```/gms, '')
    .matchAll(/^#+ (.+)$/gm)
  return [...headings].map(([, text = '']) =>
    text
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(/\s/g, '-'),
  )
}

/** Blocks of code in one language, each with its page. */
function blocksIn(language: string): { path: string; text: string }[] {
  return documents.flatMap((path) =>
    [...read(path).matchAll(/^```(\w*)\n(.*?)^```/gms)]
      .filter((match) => match[1] === language)
      .map((match) => ({ path, text: match[2] ?? '' })),
  )
}

describe('the documents', () => {
  it('the documents link only to files that exist', () => {
    const broken = documents.flatMap((path) =>
      [...read(path).matchAll(/\]\((?!https?:|#)([^)#]+)/g)]
        .map((match) => match[1] ?? '')
        .filter((target) => !existsSync(join(root, dirname(path), target)))
        .map((target) => `${path} -> ${target}`),
    )
    expect(broken).toEqual([])
  })

  it('the documents link only to headings that exist', () => {
    const broken = documents.flatMap((path) =>
      [...read(path).matchAll(/\]\((?!https?:)([^)#]*)#([^)]+)\)/g)]
        .map(([, page = '', anchor = '']) => ({
          target: page === '' ? path : join(dirname(path), page),
          anchor,
        }))
        // `#recipe=NAME` is what the playground opens: test/docs/playground.test.ts
        .filter(({ anchor }) => !anchor.startsWith('recipe='))
        .filter(({ target, anchor }) => target.endsWith('.md') && !anchorsOf(target).includes(anchor))
        .map(({ target, anchor }) => `${path} -> ${target}#${anchor}`),
    )
    expect(broken).toEqual([])
  })

  it('the documents name only files of this repository that exist', () => {
    const folders = 'src|test|docs|deploy|bench|grafana|policies|examples|clients|schemas'
    const pattern = new RegExp(`\`((?:${folders})/[\\w./-]+)\``, 'g')
    const written = documents.filter((path) => path !== 'docs/reference/api.md')
    const named = written.flatMap((path) =>
      [...read(path).matchAll(pattern)].map((match) => ({ path, file: match[1] ?? '' })),
    )
    expect(named.length).toBeGreaterThan(50)
    expect(named.filter(({ file }) => !existsSync(join(root, file)))).toEqual([])
  })

  it('the documents show only commands and flags that exist', async () => {
    const shown = documents.flatMap((path) =>
      [...read(path).matchAll(/(?:`|^|npx )countersign ([a-z][a-z-]*)([^`\n]*)/gm)].map(
        ([, command = '', rest = '']) => ({
          path,
          command,
          flags: (/^(.*?)(?: -- |$)/.exec(rest)?.[1] ?? '').match(/--[a-z][a-z-]+/g) ?? [],
        }),
      ),
    )
    // names of spans, in docs/operations.md
    const spans = ['submit', 'revise', 'vote', 'poll', 'reissue', 'redeem', 'deliver']
    const commands = [...new Set(shown.map(({ command }) => command))].filter((name) => !spans.includes(name))
    expect(commands.length).toBeGreaterThan(20)
    const help = new Map(
      await Promise.all(
        commands.map(async (name) => [name, await runCli([name, '--help'], { cwd: root })] as const),
      ),
    )
    expect(commands.filter((name) => help.get(name)?.code !== 0)).toEqual([])
    const settings = SETTING_ROWS.map(({ flag }) => `--${flag}`)
    const known = (command: string, flag: string): boolean =>
      ['--help', '--config', ...settings].includes(flag) || help.get(command)?.out.includes(flag) === true
    const unknown = shown.flatMap(({ path, command, flags }) =>
      spans.includes(command)
        ? []
        : flags.filter((flag) => !known(command, flag)).map((flag) => `${path}: ${command} ${flag}`),
    )
    expect(unknown).toEqual([])
  })

  it('the documents show valid JSON and YAML', () => {
    // a record with what it holds left out
    const cut = (text: string): boolean => text.includes('...}')
    const json = blocksIn('json').filter(({ text }) => !cut(text))
    const yaml = blocksIn('yaml')
    expect([json.length >= 5, yaml.length >= 10]).toEqual([true, true])
    for (const { path, text } of json) expect(() => JSON.parse(text) as unknown, path).not.toThrow()
    for (const { path, text } of yaml) expect(parseDocument(text).errors, path).toEqual([])
  })

  it('the documents explain the purpose of each dependency', () => {
    const { dependencies, devDependencies, overrides } = JSON.parse(read('package.json')) as Record<
      string,
      Record<string, string>
    >
    const page = read('docs/decisions/0002-dependencies.md')
    const names = Object.keys({ ...dependencies, ...devDependencies, ...overrides })
    expect(names.length).toBeGreaterThan(30)
    expect(names.filter((name) => !page.includes(name))).toEqual([])
  })

  it('the documents name every decision by its title, in order', () => {
    const decisions = readdirSync(join(root, 'docs/decisions')).filter((name) => /^\d{4}-/.test(name))
    const rows = decisions.sort().map((name, i) => {
      const title = read(`docs/decisions/${name}`)
        .split('\n')[0]
        ?.replace(`# ${i + 1}. `, '')
      return `${i + 1}. [${title}](${name})`
    })
    expect(rows.length).toBeGreaterThan(20)
    expect(read('docs/decisions/README.md')).toContain(rows.join('\n'))
  })

  it('the documents name only npm scripts that exist', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
    const known = [...Object.keys(scripts), 'ci', 'install', 'i', 'ls']
    const named = documents.flatMap((path) => [
      ...[...read(path).matchAll(/npm run ([\w:-]+)/g)].map((match) => match[1] ?? ''),
      ...[...read(path).matchAll(/`npm (start|test|demo)`/g)].map((match) => match[1] ?? ''),
    ])
    expect(named.filter((name) => !known.includes(name))).toEqual([])
  })

  it('the documents match CI: .ci/run contains the test command of the README', () => {
    expect(read('README.md')).toContain('npm ci && npm run check')
    expect(read('.ci/run')).toMatch(/^npm ci$\n^npm run check$/m)
  })
})

describe('the reference', () => {
  it('lists every endpoint: docs/reference/api.md', async () => {
    await expect(apiPage()).toMatchFileSnapshot('../docs/reference/api.md')
  })

  it('lists every command: docs/reference/cli.md', async () => {
    await expect(await cliPage(root)).toMatchFileSnapshot('../docs/reference/cli.md')
  })
})

describe('docs/explanation/how-policy-decides.md', () => {
  it('shows what `explain` prints of the starter policies', async () => {
    const shown = /^\$ countersign explain .*\n([^`]*)/m.exec(
      read('docs/explanation/how-policy-decides.md'),
    )?.[1]
    const payload = { from: 'acct_reserve', to: 'acct_travel', amount_cents: 25_000, currency: 'eur' }
    const input = JSON.stringify({ tool_name: 'ledger.transfer', payload })
    const { out } = await runCli(['explain', 'policies', '-'], { cwd: root, input })
    expect(out.replace(/revision \w+/, 'revision ...').trimEnd()).toBe(shown?.trimEnd())
  })
})

describe('CONTRIBUTING.md', () => {
  it('shows every folder of src on its map, and no other', () => {
    const map = /^```\n(contract .*?)^```/ms.exec(read('CONTRIBUTING.md'))?.[1] ?? ''
    const folders = readdirSync(join(root, 'src'), { withFileTypes: true }).filter((one) => one.isDirectory())
    const named = [...map.matchAll(/^([a-z-]+) /gm)].map((match) => match[1] ?? '')
    expect(named.toSorted()).toEqual(folders.map(({ name }) => name).toSorted())
  })
})

describe('bench/README.md', () => {
  it('has a row for each benchmark that `npm run bench` runs, and for no other', () => {
    const rows = [...read('bench/README.md').matchAll(/^\| `(\w+)\.mjs` \|/gm)].map((match) => match[1] ?? '')
    const run = [...read('bench/lanes.mjs').matchAll(/^ {2}'(\w+)',$/gm)].map((match) => match[1] ?? '')
    expect(run.length).toBeGreaterThan(10)
    expect(rows.toSorted()).toEqual(run.toSorted())
  })
})

describe('docs/capacity.md', () => {
  it('has the figures of bench/figures.json (npm run schemas writes them)', async () => {
    await expect(withFigures(read('docs/capacity.md'))).toMatchFileSnapshot('../docs/capacity.md')
  })
})

describe('docs/javascript/frameworks.md', () => {
  it('has the rows of the suite of adapters (npm run schemas writes them)', async () => {
    const path = 'docs/javascript/frameworks.md'
    await expect(withFrameworksTable(read(path))).toMatchFileSnapshot(`../${path}`)
  })
})

describe('docs/reference/settings.md', () => {
  const page = withSettingsTable(read('docs/reference/settings.md'))

  it('lists every setting and no other (npm run schemas writes them)', async () => {
    await expect(page).toMatchFileSnapshot('../docs/reference/settings.md')
  })

  it('shows the default of every setting', () => {
    for (const { variable, default: text } of SETTING_ROWS) {
      const row = page.split('\n').find((line) => line.includes(`| \`${variable}\` |`))
      if (text !== undefined) expect(row, variable).toContain(`\`${text}\``)
    }
  })
})

describe('docs/webhooks.md', () => {
  it('has a row for each event', () => {
    const cells = [...read('docs/webhooks.md').matchAll(/^\| (`[a-z._`, ]+`) \|/gm)].map(
      (match) => match[1] ?? '',
    )
    const named = cells.flatMap((cell) => [...cell.matchAll(/`([a-z]+\.[a-z_]+)`/g)].map((match) => match[1]))
    expect(named).toEqual(WebhookEvent.enum)
  })
})

describe('pages that readers come to with a question', () => {
  it.each([
    'docs/agent-side.md',
    'docs/operations.md',
    'docs/redis.md',
    'docs/secrets.md',
    'docs/capacity.md',
    'docs/webhooks.md',
  ])('begins each section with the question: %s', (page) => {
    const sections = read(page)
      .replaceAll(/^```.*?^```$/gms, '')
      .split(/^#{2,3} /m)
      .slice(1)
    expect(sections.length).toBeGreaterThan(2)
    expect(sections.filter((section) => !/^.*\n\n\*[^*\n]+\?\*\n\n/.test(section))).toEqual([])
  })
})

describe('CHANGELOG.md', () => {
  it('says a change in at most 240 characters, without the targets of its links', () => {
    const bullets = read('CHANGELOG.md')
      .split(/^(?=- |#)/m)
      .filter((part) => part.startsWith('- '))
      .map((part) =>
        part
          .slice(2)
          .trim()
          .replaceAll(/\s+/g, ' ')
          .replaceAll(/\]\([^)]*\)/g, ']'),
      )
    expect(bullets.length).toBeGreaterThan(10)
    expect(bullets.filter((text) => text.length > 240)).toEqual([])
  })
})

describe('README.md', () => {
  it.each(['README.md', 'docs/comparison.md'])(
    'shows the figures of bench/figures.json: %s',
    async (page) => {
      await expect(withFigures(read(page))).toMatchFileSnapshot(`../${page}`)
    },
  )

  it('fits on two screens: at most 120 lines', () => {
    expect(read('README.md').trimEnd().split('\n').length).toBeLessThanOrEqual(120)
  })
})
