import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { openApiDocument } from '../src/contract/openapi.ts'

const packageFile = new URL('../package.json', import.meta.url)
const { version } = JSON.parse(readFileSync(packageFile, 'utf8')) as { version: string }

describe('the published schemas', () => {
  it('are what the declarations say (npm run schemas writes them)', async () => {
    const text = `${JSON.stringify(openApiDocument(version), null, 2)}\n`
    await expect(text).toMatchFileSnapshot('../schemas/openapi.json')
  })
})
