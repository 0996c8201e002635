// Lets the conformance tool, which wants node 22, run on node 20: adds the one function of `fs` which it imports and does not need here.
// Use: node --import ./newer_fs.mjs ...
import { register } from 'node:module';

const url = (code) => `data:text/javascript,${encodeURIComponent(code)}`;
const fs = url(`export * from 'node:fs'; export { default } from 'node:fs'; export const globSync = () => [];`);
register(url(`export const resolve = (name, context, next) => (name === 'fs' ? { url: ${JSON.stringify(fs)}, shortCircuit: true } : next(name, context));`));
