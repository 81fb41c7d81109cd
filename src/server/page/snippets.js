/** The request in other languages. The token is always read from $TOKEN, so copies don't leak it. */
import { createBody, rpcPath } from "./request.js";
import { quoteText } from "./text.js";

/** Each takes the base URL, with a slash at its end, and the plant. */
export const snippets = {
  curl: ({ base, plant }) => `curl -X POST ${quote(`${base}plants`)} \\
  -H "Authorization: Bearer $TOKEN" \\
  -H "Content-Type: application/json" \\
  -d ${quote(createBody(plant))}`,

  "buf curl": ({ base, plant }) => `npx @bufbuild/buf curl --protocol grpc \\
${base.startsWith("http:") ? "  --http2-prior-knowledge \\\n" : ""}\
  -H "Authorization: Bearer $TOKEN" \\
  -d ${quote(`{"plant": ${createBody(plant)}}`)} \\
  ${quote(base + rpcPath)}`,

  TypeScript: ({
    base,
    plant: { id, ...texts },
  }) => `import { createPlantClient } from "plant-store";

const store = createPlantClient({
  baseUrl: ${JSON.stringify(base.replace(/\/$/, ""))},
  token: process.env.TOKEN ?? "",
});
const { plant } = await store.createPlant({
  plant: { ${[
    ...(id === "" ? [] : [`id: ${/^-?(0|[1-9][0-9]*)$/.test(id) ? `${id}n` : quoteText(id)}`]),
    ...Object.entries(texts)
      .filter(([field, text]) => field === "name" || text !== "")
      .map(([field, text]) => `${field}: ${quoteText(text)}`),
  ].join(", ")} },
});
console.log(plant?.name);`,

  // A JSON object of integers and texts is a Python dict, too.
  Python: ({ base, plant }) => `import json, os, urllib.error, urllib.request

request = urllib.request.Request(
    ${JSON.stringify(`${base}plants`)},
    data=json.dumps(${createBody(plant)}).encode(),
    headers={
        "Authorization": "Bearer " + os.environ["TOKEN"],
        "Content-Type": "application/json",
    },
)
try:
    response = urllib.request.urlopen(request)
except urllib.error.HTTPError as error:
    response = error
print(response.status, response.read().decode())`,

  Go: ({ base, plant }) => `package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
)

func main() {
	body := strings.NewReader(${goText(createBody(plant))})
	request, err := http.NewRequest("POST", ${JSON.stringify(`${base}plants`)}, body)
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("TOKEN"))
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(response.Status, string(answer))
}`,

  // Valid JSON has at most two quotes in a row, so it cannot end the text block.
  Java: ({ base, plant }) => `import java.net.URI;
import java.net.http.*;

class CreatePlant {
  public static void main(String[] args) throws Exception {
    var body = """
        ${createBody(plant).replaceAll("\\", "\\\\")}""";
    var request = HttpRequest.newBuilder(URI.create(${JSON.stringify(`${base}plants`)}))
        .header("Authorization", "Bearer " + System.getenv("TOKEN"))
        .header("Content-Type", "application/json")
        .POST(HttpRequest.BodyPublishers.ofString(body))
        .build();
    var response = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
    System.out.println(response.statusCode() + " " + response.body());
  }
}`,

  Rust: ({ base, plant }) => `// cargo add ureq@3
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let token = std::env::var("TOKEN")?;
    let mut response = ureq::post(${JSON.stringify(`${base}plants`)})
        .config()
        .http_status_as_error(false)
        .build()
        .header("Authorization", format!("Bearer {token}"))
        .header("Content-Type", "application/json")
        .send(${rustText(createBody(plant))})?;
    println!("{} {}", response.status(), response.body_mut().read_to_string()?);
    Ok(())
}`,
};

function quote(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function goText(text) {
  return text.includes("`") ? JSON.stringify(text) : `\`${text}\``;
}

/** A raw string needs more #s around it than follow any quote in it. */
function rustText(text) {
  const runs = text.match(/"#*/g) ?? [];
  const hashes = "#".repeat(Math.max(...runs.map((run) => run.length)));
  return `r${hashes}"${text}"${hashes}`;
}
