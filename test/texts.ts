import { readFileSync } from 'node:fs'

/** A list of texts of data/hostile/. @throws Error when the file has no list of this name */
export function textsOf(file: string, name: string): readonly string[] {
  const data = readFileSync(new URL(`data/hostile/${file}.json`, import.meta.url), 'utf8')
  const list = (JSON.parse(data) as Readonly<Record<string, readonly string[]>>)[name]
  if (list === undefined) throw new Error(`data/hostile/${file}.json has no list ${name}`)
  return list
}
