import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
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

describe('the OpenAPI document', () => {
  it('holds valid JSON Schemas only: the gateway compiles them without asking', () => {
    const { components } = JSON.parse(JSON.stringify(openApiDocument(version))) as {
      components: { schemas: Record<string, object> }
    }
    const ajv = new Ajv2020({ strict: false })
    const invalid = Object.entries(components.schemas).filter(([, schema]) => !ajv.validateSchema(schema))
    expect(invalid.map(([name]) => name)).toEqual([])
    expect(Object.keys(components.schemas)).toContain('DecisionRequest')
  })
})
