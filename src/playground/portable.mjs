import { fileURLToPath } from 'node:url'

const IN_BROWSERS = fileURLToPath(new URL('node.ts', import.meta.url))
const OF_NODE = ['crypto', 'util', 'timers/promises', 'buffer', 'net'].map((name) => `node:${name}`)

/**
 * Creates a Vite plugin that resolves the `node:` imports of src/ to node.ts.
 *
 * @returns {import('vite').Plugin}
 */
export const portable = () => ({
  name: 'portable',
  enforce: 'pre',
  resolveId: (id, importer = '') =>
    OF_NODE.includes(id) && importer.includes('/src/') ? IN_BROWSERS : undefined,
})
