import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { build } from 'rolldown'

/*
 * The bundle reads the ES modules of these packages and keeps the used exports: an eighth of the bytes of their
 * CommonJS files.
 */
const asModules = ['core', 'exporter-trace-otlp-http', 'otlp-transformer', 'resources', 'sdk-trace'].map(
  (name) => `@opentelemetry/${name}`,
)
const otherModules = ['@opentelemetry/otlp-exporter-base', '@opentelemetry/semantic-conventions']
const sdk = (name) => resolve('packages/sdk/src', name)
const moduleOf = (name) => resolve('node_modules', name, 'build/esm/index.js')

/**
 * Bundles the program into a few files instead of eight hundred. A gateway spent most of its start-up on finding and
 * reading modules (docs/decisions/0008). The bundle is not minified, so that stack traces are readable. Tests use the
 * compiled dist/ beside it. rolldown strips the types of the sources, so a first start waits for no type checker.
 */
export async function bundleProgram() {
  await build({
    input: {
      main: 'src/main.ts',
      'bundle-child': 'src/policy/bundle/bundle-child.ts',
      'delivery-thread': 'src/outbound/delivery-thread.ts',
      // what a call that `countersign dev` prints imports where no SDK is installed
      sdk: sdk('index.ts'),
    },
    platform: 'node',
    tsconfig: false,
    external: ['lmdb', 'pino'], // they look for files of their own beside them
    resolve: {
      alias: {
        ...Object.fromEntries(asModules.map((name) => [name, moduleOf(name)])),
        '@countersign/sdk/runtime': sdk('runtime.ts'),
        '@countersign/sdk': sdk('index.ts'),
      },
    },
    onLog: (level, log, print) => {
      if (log.code === 'UNRESOLVED_IMPORT') throw new Error(log.message)
      print(level, log)
    },
    output: { dir: 'dist/bin', format: 'esm', entryFileNames: '[name].js', cleanDir: true },
  })
  chmodSync('dist/bin/main.js', 0o755)
  writeLicences()
}

/*
 * Packages that the program contains and that are not installed beside it. Their licences are in the bundle
 * (docs/decisions/0013).
 */
const within = {
  '@countersign/sdk': 'LICENSE',
  'openid-client': 'LICENSE.md',
  oauth4webapi: 'LICENSE.md',
  jose: 'LICENSE.md',
  limiter: 'LICENSE.txt',
  ...Object.fromEntries([...asModules, ...otherModules].map((name) => [name, 'LICENSE'])),
}
function writeLicences() {
  const texts = Object.entries(within).map(
    ([name, file]) => `${name}\n\n${readFileSync(`node_modules/${name}/${file}`, 'utf8').trimStart()}`,
  )
  writeFileSync('dist/bin/LICENSES.txt', texts.join('\n\n'))
}
