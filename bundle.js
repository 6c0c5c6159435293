import { chmodSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { build } from 'rolldown'
import { licencesOf, packagesOf, sbomOf } from './compiled-in.js'

/*
 * The bundle reads the ES modules of these packages and keeps the used exports: an eighth of the bytes of their
 * CommonJS files.
 */
const asModules = ['core', 'exporter-trace-otlp-http', 'otlp-transformer', 'resources', 'sdk-trace'].map(
  (name) => `@opentelemetry/${name}`,
)
const sdk = (name) => resolve('packages/sdk/src', name)
const moduleOf = (name) => resolve('node_modules', name, 'build/esm/index.js')

/**
 * Bundles the program into a few files instead of eight hundred. A gateway spent most of its start-up on finding and
 * reading modules (docs/decisions/0008). The bundle is not minified, so that stack traces are readable. Tests use the
 * compiled dist/ beside it. rolldown strips the types of the sources, so a first start waits for no type checker.
 */
export async function bundleProgram() {
  const { output } = await build({
    input: {
      main: 'src/main.ts',
      'bundle-child': 'src/policy/bundle/bundle-child.ts',
      'delivery-thread': 'src/outbound/delivery-thread.ts',
      // what a call that `countersign dev` prints imports where no SDK is installed
      sdk: sdk('index.ts'),
    },
    platform: 'node',
    tsconfig: false,
    // two look for files of their own beside them, and one is an optional peer
    external: ['lmdb', 'pino', '@aws-sdk/client-s3'],
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
  const packages = packagesOf(output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : [])))
  writeFileSync('dist/bin/LICENSES.txt', licencesOf(packages))
  writeFileSync('dist/bin/sbom.cdx.json', sbomOf(packages))
}
