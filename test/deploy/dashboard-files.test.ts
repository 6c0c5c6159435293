import { readdirSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { DASHBOARD_FILES } from '../../grafana/src/boards.ts'
import { at } from './files.ts'
import { DASHBOARDS } from './promql.ts'

describe('grafana/dashboards', () => {
  it.each(Object.entries(DASHBOARD_FILES))('%s matches the output of grafana/src', async (name, text) => {
    await expect(text).toMatchFileSnapshot(`../../grafana/dashboards/${name}`)
  })

  it('holds nothing else', () => {
    expect(readdirSync(at('grafana/dashboards')).toSorted()).toEqual(Object.keys(DASHBOARD_FILES).toSorted())
    expect(DASHBOARDS.map((name) => `${name}.json`).toSorted()).toEqual(
      Object.keys(DASHBOARD_FILES).toSorted(),
    )
  })
})
