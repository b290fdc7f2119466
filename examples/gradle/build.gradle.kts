// gradle check compares the schemas with the default branch, and fails if a change breaks a reader.
plugins {
    base
}

// The program that pip install counterfoil made; another place: -Pcounterfoil=/opt/counterfoil/bin/counterfoil
val counterfoil = providers.gradleProperty("counterfoil").getOrElse("counterfoil")

val schemaCheck by tasks.registering(Exec::class) {
    group = "verification"
    description = "Compares the schemas with the default branch."
    commandLine(counterfoil, "check", "--no-color", "src/main/avro")
}

tasks.named("check") {
    dependsOn(schemaCheck)
}
