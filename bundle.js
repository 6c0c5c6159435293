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
const moduleOf = (name) => resolve('node_modules', name, 'build/esm/index.js')

/**
 * Bundles the program into a few files instead of eight hundred. A gateway spent most of its start-up on finding and
 * reading modules (docs/decisions/0008). The bundle is not minified, so that stack traces are readable. Tests use the
 * compiled dist/ beside it.
 */
export async function bundleProgram() {
  await build({
    input: {
      main: 'dist/main.js',
      'bundle-child': 'dist/policy/bundle/bundle-child.js',
      'delivery-thread': 'dist/outbound/delivery-thread.js',
      // what a call that `countersign dev` prints imports where no SDK is installed
      sdk: 'packages/sdk/dist/index.js',
    },
    platform: 'node',
    external: ['lmdb', 'pino'], // they look for files of their own beside them
    resolve: { alias: Object.fromEntries(asModules.map((name) => [name, moduleOf(name)])) },
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
